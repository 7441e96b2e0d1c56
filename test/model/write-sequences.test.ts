import { Agent } from 'node:http'
import fc from 'fast-check'
import { type Reply, send } from '../client'
import { caseCount, timeFor } from '../hostile/cases'
import { leg } from '../world/leg'
import { variedSeed } from '../world/vary'
import { openWorld, type World } from '../world/world'
import { type ResourceName, resourceNames, WriteModel } from './write-model'
import { firstOps, isRefusal, type Prediction, Predictor, type WriteOp, writeOps } from './write-requests'
import { missingKeys, writtenEntities, writtenSubscribers } from './written-entities'

/**
 * Sequences of single, bulk, nested and batch writes and upserts leave the data that a model in plain JavaScript predicts (`write-model.ts`),
 * and refused requests leave nothing: after each request, the service shows exactly the data of the model.
 * The sequences depend on the seed; `TEST_SEED` repeats them. If a test fails, it prints the shortest failing sequence that fast-check finds.
 */

/** A sequence has 25 requests on average. */
const total = caseCount(200, 10_000)
const sequences = Math.ceil(total / 25)

const agent = new Agent({ keepAlive: true })
let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [...writtenEntities],
    columnOrder: variedSeed,
    mount: { batch: true },
    source: { subscribers: [...writtenSubscribers] },
  })
})
afterAll(async () => {
  agent.destroy()
  await world.close()
})

/** Number of requests of each kind, with which a test checks that the sequences cover all kinds. */
const counts = new Map<string, number>()
const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)

type Shown = Readonly<Record<string, unknown>>

async function readAll(): Promise<Readonly<Record<ResourceName, readonly Shown[]>>> {
  const read = async (query: string): Promise<readonly Shown[]> => {
    const { text } = await send(world.url, `GET /api/${query}`, { agent })
    return (JSON.parse(text) as { readonly objects: readonly Shown[] }).objects
  }
  const [product = [], label = [], purchase = []] = await Promise.all(
    ['product/?limit=500', 'label/?limit=500', 'purchase/?include=labels,lines&limit=500'].map(read),
  )
  // Each line has a purchase.
  return { product, label, purchase, line: purchase.flatMap(({ lines }) => lines as readonly Shown[]) }
}

/** Requires that the service shows the rows of the model. @returns the model with the keys of new rows */
async function requireContents(model: WriteModel): Promise<WriteModel> {
  const stored = await readAll()
  const codes = new Map([...stored.product, ...stored.label].map(({ id, code }) => [id, code]))
  const numbers = new Map(stored.purchase.map(({ id, number }) => [id, number]))
  const shown = {
    product: stored.product.map(({ id, code, price }) => [String(code), id, { price }] as const),
    label: stored.label.map(({ id, code, title }) => [String(code), id, { title }] as const),
    purchase: stored.purchase.map(({ id, number, title, labels }) => {
      const own = (labels as readonly Shown[]).map(({ code }) => code).toSorted()
      return [String(number), id, { title, labels: own }] as const
    }),
    line: stored.line.map(({ id, purchase_id, position, product_id, quantity }) => {
      const product = product_id === null ? null : codes.get(product_id)
      return [`${numbers.get(purchase_id)}/${position}`, id, { product, quantity }] as const
    }),
  }
  const expected = model.contents()
  const next = new WriteModel(model)
  for (const name of resourceNames) {
    const rows = [...expected[name]].map(([key, row]) => [key, row.shown])
    expect({ [name]: Object.fromEntries(shown[name].map(([key, , values]) => [key, values])) }).toEqual({
      [name]: Object.fromEntries(rows),
    })
    expect(shown[name]).toHaveLength(rows.length)
    for (const [key, id] of shown[name]) {
      const row = expected[name].get(key)?.row
      if (row === undefined) throw new Error(`there is no ${name} ${key}`)
      // A row that existed before has kept its key.
      if (row.id !== undefined) expect({ [`${name} ${key}`]: id }).toEqual({ [`${name} ${key}`]: row.id })
      next.identify(name, row.uid, { id })
    }
  }
  return next
}

function requirePredicted(prediction: Prediction, reply: Reply): void {
  const { line, body, statuses, wrong, shown, indexes } = prediction
  const request = `${line} ${JSON.stringify(body)}`
  expect({ request, status: statuses.includes(reply.status) ? statuses : `${reply.status} ${reply.text}` }).toEqual({
    request,
    status: statuses,
  })
  if (!isRefusal(reply.status)) {
    if (shown !== undefined) expect({ request, reply: reply.json() }).toMatchObject({ request, reply: shown })
    return
  }
  const { errors = [], index } = reply.json() as {
    readonly errors?: readonly { readonly index?: number; readonly line?: number; readonly field: string }[]
    readonly index?: number
  }
  if (indexes !== undefined) expect(indexes).toContain(index)
  if (reply.status !== 400) return
  const named = errors.map(({ index: at, line: of, field }) =>
    [of === undefined ? '' : `line ${of}: `, at === undefined ? '' : `${at}: `, field].join(''),
  )
  expect({ request, unexpected: named.filter((field) => !wrong.has(field)) }).toEqual({ request, unexpected: [] })
  expect({ request, named: named.length > 0 }).toEqual({ request, named: true })
}

test(
  'the data is that of the model after each request, and refused requests leave nothing',
  async () => {
    const predictor = new Predictor(missingKeys)
    const run = async (ops: readonly WriteOp[]): Promise<void> => {
      for (const table of ['line', 'purchase', 'product', 'label']) await world.sql(`DELETE FROM "${table}"`)
      let model = new WriteModel()
      for (const op of [...firstOps, ...ops]) {
        const prediction = predictor.predict(op, model)
        const { line, body, headers, next } = prediction
        const reply = await send(world.url, line, { body, headers, agent })
        requirePredicted(prediction, reply)
        count(`${op.kind} ${isRefusal(reply.status) ? 'refused' : 'accepted'}`)
        if (isRefusal(reply.status)) count(`status ${reply.status}`)
        model = await requireContents(isRefusal(reply.status) ? model : next)
      }
      // The recorded statements are not used.
      world.statements()
    }
    await fc.assert(fc.asyncProperty(fc.array(writeOps, { minLength: 1, maxLength: 40, size: 'max' }), run), {
      seed: leg.seed,
      numRuns: sequences,
      includeErrorInReport: true,
    })
    expect(world.faults).toEqual([])
  },
  timeFor(total),
)

test('the sequences cover all kinds of requests and refusals', () => {
  const kinds = new Set([...counts.keys()].map((what) => what.replace(/ (accepted|refused)$/, '')))
  const accepted = [...counts.keys()].filter((what) => what.endsWith(' accepted'))
  // A short run may lack some of the eleven kinds, or have refused each of their requests.
  expect([...kinds].filter((kind) => !kind.startsWith('status')).length).toBeGreaterThanOrEqual(9)
  expect(accepted.length).toBeGreaterThanOrEqual(7)
  expect(['status 400', 'status 409'].filter((status) => !counts.has(status))).toEqual([])
})
