import { Agent } from 'node:http'
import fc from 'fast-check'
import { type Reply, send } from '../client'
import { caseCount, timeFor } from '../hostile/cases'
import { addHiddenColumns, variedSeed as seed } from '../world/vary'
import { type ModelWorld, openModelWorld } from './database'
import { entities } from './entities'
import { type FormatCase, formatRequestOf, parseStreamed, streamedRecords } from './formats'
import { type Envelope, envelopeOf, type ListCase, linkTo, pagesOf, pathOf, totalsOf } from './lists'
import { recordOf } from './model'
import { formatCases, listCases, type WriteCase, writeCases } from './requests'
import type { Row, Value } from './rows'
import { relations } from './schema'

/**
 * The responses to lists, streamed lists, records and PUT are the same as those of a model in plain JavaScript (`model.ts`), which computes them from all
 * rows.
 * The databases and the requests depend on the seed; `TEST_SEED` repeats them. If a test fails, it prints the smallest failing request
 * that fast-check finds.
 */

const total = caseCount(2000, 100_000)
/** Number of databases, each with its own rows, names and column orders. */
const databases = Math.max(2, Math.ceil(total / 2500))
/** Number of requests in flight. */
const clients = 4

addHiddenColumns(Object.values(entities))

const agent = new Agent({ keepAlive: true, maxSockets: clients * 2 })
afterAll(() => agent.destroy())

/** Number of requests of each kind, with which a test checks that the generated requests cover all kinds. */
const counts = {
  streamed: 0,
  selected: 0,
  searched: 0,
  someOfAll: 0,
  pages: 0,
  noPage: 0,
  included: 0,
  cutLists: 0,
  changed: 0,
  unchanged: 0,
  refused: 0,
}

async function checkList(model: ModelWorld, request: ListCase): Promise<void> {
  const { world, rows } = model
  const pages = pagesOf(rows, request)
  const found = pages.flat().length
  if (found > 0 && found < rows[request.resource].length) counts.someOfAll++
  if (found > 0 && request.words.length > 0) counts.searched++
  if (found > 0 && request.fields !== undefined) counts.selected++
  if (pages.length > 1) counts.pages++
  const included = pages
    .flat()
    .flatMap((record) => request.includes.map(({ name }) => [record[name], record[`${name}_next`]]))
  if (included.some(([value]) => (Array.isArray(value) ? value.length > 0 : value !== null))) counts.included++
  if (included.some(([, next]) => next !== undefined && next !== '')) counts.cutLists++
  if (request.page !== undefined && request.page > pages.length) counts.noPage++
  if (request.page === undefined) await checkWalk(model, request, pages)
  else expect(await fetchEnvelope(world.url, pathOf(request))).toEqual(envelopeOf(rows, request))
}

/** Follows the links of keyset paging to the end, and back to the beginning. */
async function checkWalk(world: ModelWorld, request: ListCase, pages: ReturnType<typeof pagesOf>): Promise<void> {
  const { resource: model } = request
  const expected = totalsOf(world.rows, request)
  const isLink = (link: string, page: number): boolean =>
    link.startsWith(`${linkTo(request, page)}&after=`) && /&after=[\w-]{16,}$/.test(link)
  const visit = async (path: string, index: number): Promise<Envelope['meta']> => {
    const { meta, objects } = await fetchEnvelope(world.world.url, path)
    const { next, previous } = meta
    const { model: name, page, next: _next, previous: _previous, ...totals } = meta
    expect({ path, name, page, objects, totals }).toEqual({
      path,
      name: model,
      page: index + 1,
      objects: pages[index],
      totals: expected,
    })
    const hasNext = index + 1 < pages.length
    expect({ path, next }).toEqual({ path, next: hasNext && isLink(next, index + 2) ? next : '' })
    expect({ path, previous }).toEqual({ path, previous: index > 0 && isLink(previous, index) ? previous : '' })
    if (hasNext && next === '') throw new Error(`${path} has no next page`)
    if (index > 0 && previous === '') throw new Error(`${path} has no previous page`)
    return meta
  }
  let meta = await visit(pathOf(request), 0)
  for (let index = 1; index < pages.length; index++) meta = await visit(meta.next, index)
  for (let index = pages.length - 2; index >= 0; index--) meta = await visit(meta.previous, index)
}

async function fetchEnvelope(url: string, path: string): Promise<Envelope> {
  const reply = await send(url, `GET ${path}`, { agent })
  if (reply.status !== 200) throw new Error(`GET ${path}: ${reply.status} ${reply.text}`)
  return reply.json() as Envelope
}

/** Compares a streamed list with the records of all pages. */
async function checkStream({ world, rows }: ModelWorld, request: FormatCase): Promise<void> {
  const [line, headers] = formatRequestOf(request)
  const { status, text } = await send(world.url, line, { agent, headers })
  if (status !== 200) throw new Error(`${line}: ${status} ${text}`)
  const expected = streamedRecords(rows, request)
  expect({ line, records: parseStreamed(request.format, text) }).toEqual({ line, records: expected })
  if (expected.length > 1) counts.streamed++
}

/** The values of a row after a PUT: a date-time that is sent back as it was shown keeps its fraction. */
function changed({ id, values, many }: Row, changes: WriteCase['changes']): Row {
  const written = Object.entries(changes).map(([field, value]): [string, Value] => {
    if (field !== 'seen' || value === null) return [field.replace(/_id$/, ''), value]
    const exact = String(value).length === 19 ? `${value}.000` : value
    const stored = String(values['seen'] ?? '')
    return [
      field,
      String(exact).endsWith('.000') && stored.slice(0, 19) === String(value).slice(0, 19) ? stored : exact,
    ]
  })
  return { id, many, values: { ...values, ...Object.fromEntries(written) } }
}

const isSame = (one: Row, other: Row): boolean =>
  Object.entries(one.values).every(([field, value]) => value === (other.values[field] ?? null))

/** Compares the record and its ETag before and after a PUT, and undoes the PUT. */
async function checkWrite({ world, rows, restore }: ModelWorld, request: WriteCase): Promise<void> {
  const { resource, id, changes, ifMatch } = request
  const path = `/api/${resource}/${id}/`
  const call = (method: string, headers: Record<string, string> = {}, body?: unknown): Promise<Reply> =>
    send(world.url, `${method} ${path}`, { agent, headers, body })
  const before = rows[resource].find((row) => row.id === id)
  if (before === undefined) throw new Error(`the model has no ${resource} ${id}`)
  const first = await call('GET')
  expect([first.status, first.json()]).toEqual([200, recordOf(resource, before)])
  const tag = String(first.headers.etag)
  expect((await call('GET', { 'If-None-Match': tag })).status).toBe(304)

  const isRefused = ifMatch === 'other'
  const after = isRefused ? before : changed(before, changes)
  counts[isRefused ? 'refused' : isSame(before, after) ? 'unchanged' : 'changed']++
  try {
    const condition = { none: {}, current: { 'If-Match': tag }, other: { 'If-Match': '"another"' } }[ifMatch]
    const reply = await call('PUT', condition, changes)
    expect([reply.status, isRefused ? undefined : reply.json()]).toEqual(
      isRefused ? [412, undefined] : [200, recordOf(resource, after)],
    )
    const last = await call('GET', { 'If-None-Match': tag })
    // The ETag changes if and only if a stored value has changed.
    expect(last.status).toBe(isSame(before, after) ? 304 : 200)
    if (last.status === 200) {
      expect([last.json(), last.headers.etag]).toEqual([recordOf(resource, after), reply.headers.etag])
    }
    await checkFound(world.url, resource, after)
  } finally {
    await restore(resource, before)
  }
}

/** Checks that filters by its values find a record. */
async function checkFound(url: string, resource: WriteCase['resource'], { id, values }: Row): Promise<void> {
  const references = Object.entries(relations[resource]).filter(([, { many }]) => !many)
  const filters = ['score', 'price', 'big', 'day', 'at', 'status', 'seen', ...references.map(([name]) => name)].map(
    (field) => {
      const value = values[field] ?? null
      return value === null ? `${field}__is=null` : `${field}=${encodeURIComponent(String(value))}`
    },
  )
  const { objects } = await fetchEnvelope(
    url,
    `/api/${resource}/?id=${encodeURIComponent(String(id))}&${filters.join('&')}`,
  )
  expect(objects.map((object) => object['id'])).toEqual([id])
}

describe.each(Array.from({ length: databases }, (_, index) => seed * 1000 + index))(
  `TEST_SEED=${seed}: the database of seed %i`,
  (own) => {
    let opened: ModelWorld
    beforeAll(async () => {
      opened = await openModelWorld(own)
    })
    afterAll(async () => {
      await opened.world.close()
      expect(opened.world.faults).toEqual([])
    })

    const holds = <T>(cases: fc.Arbitrary<T>, check: (one: T) => Promise<void>, client: number, share: number) =>
      fc.assert(
        fc.asyncProperty(cases, async (one) => {
          await check(one)
          // The recorded statements are not used.
          opened.world.statements()
        }),
        {
          seed: own * (clients + 2) + client,
          numRuns: Math.ceil((total / databases) * share),
          includeErrorInReport: true,
        },
      )

    test(
      'lists are the same as those of the model',
      async () => {
        const all = Array.from({ length: clients }, (_, client) =>
          holds(listCases, (request) => checkList(opened, request), client, 0.8 / clients),
        )
        const failed = (await Promise.allSettled(all)).find((one) => one.status === 'rejected')
        if (failed !== undefined) throw failed.reason
      },
      timeFor(total),
    )

    test(
      'streamed lists have the records of all pages of the model',
      () => holds(formatCases, (request) => checkStream(opened, request), clients + 1, 0.1),
      timeFor(total),
    )

    test(
      'a record and its ETag are the same as those of the model, before and after a PUT',
      () => holds(writeCases, (request) => checkWrite(opened, request), clients, 0.1),
      timeFor(total),
    )
  },
)

test('the generated requests cover all kinds', () => {
  const least = {
    streamed: 0.02,
    selected: 0.02,
    searched: 0.008,
    someOfAll: 0.2,
    pages: 0.2,
    noPage: 0.05,
    included: 0.1,
    cutLists: 0.005,
    changed: 0.03,
    unchanged: 0.005,
    refused: 0.01,
  }
  const few = Object.entries(counts).filter(([name, count]) => count < total * least[name as keyof typeof least])
  expect(few).toEqual([])
})
