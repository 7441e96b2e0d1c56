import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout } from 'node:timers/promises'
import { Validate, ValidatorConstraint } from 'class-validator'
import {
  AfterLoad,
  BeforeInsert,
  Column,
  DeleteDateColumn,
  Entity,
  type EntityManager,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  ManyToOne,
  PrimaryGeneratedColumn,
  type RemoveEvent,
  type UpdateEvent,
} from 'typeorm'
import { anonymous, type ProblemDetails, problem, Resource } from 'typeorm-resources'
import { apiOf, type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { isSqlite, sqlOf } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Where application code throws an error, and which. */
const plan: { place?: string | undefined; error?: () => unknown } = {}
const throwAt = (place: string): void => {
  if (plan.place === place) throw plan.error?.()
}

@ValidatorConstraint({ name: 'planned' })
class PlannedConstraint {
  validate(): boolean {
    throwAt('validator')
    return true
  }
}

/** Calls all kinds of application code that may throw a problem. */
@Entity()
@Resource({
  auth: () => {
    throwAt('access rule')
    return anonymous
  },
  scope: () => {
    throwAt('scope')
    return true
  },
})
class Ticket {
  @PrimaryGeneratedColumn() id!: number
  @Column() @Validate(PlannedConstraint) text!: string
  @Column() level!: number

  @BeforeInsert() listen(): void {
    throwAt('@BeforeInsert')
  }
  @AfterLoad() load(): void {
    throwAt('@AfterLoad')
  }
}

/** Is soft-deleted. */
@Entity()
@Resource({ auth: permitAll })
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @DeleteDateColumn() gone!: Date | null
}

@EventSubscriber()
class Thrower implements EntitySubscriberInterface {
  beforeInsert = (): void => throwAt('beforeInsert')
  afterInsert = async (): Promise<void> => throwAt('afterInsert')
  beforeUpdate = (): void => throwAt('beforeUpdate')
  afterUpdate = async (): Promise<void> => throwAt('afterUpdate')
  beforeRemove = (): void => throwAt('beforeRemove')
  afterRemove = (): void => throwAt('afterRemove')
  beforeSoftRemove = (): void => throwAt('beforeSoftRemove')
  afterSoftRemove = (): void => throwAt('afterSoftRemove')
  beforeTransactionCommit = (): void => throwAt('beforeTransactionCommit')
  afterTransactionCommit = (): void => throwAt('afterTransactionCommit')
}

@Entity()
@Resource({ auth: permitAll })
class Invoice {
  @PrimaryGeneratedColumn() id!: number
  @Column() customer!: string
  @Column({ default: false }) sent!: boolean
}

@Entity()
@Resource({ auth: permitAll })
class Line {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Invoice, { nullable: false }) invoice!: Invoice
}

/** A sent invoice cannot be changed. */
@EventSubscriber()
class InvoiceSubscriber implements EntitySubscriberInterface<Invoice> {
  listenTo = (): typeof Invoice => Invoice
  beforeUpdate = ({ databaseEntity }: UpdateEvent<Invoice>): void => requireDraft(databaseEntity)
  beforeRemove = ({ databaseEntity }: RemoveEvent<Invoice>): void => requireDraft(databaseEntity)
}

/** Lines of a sent invoice cannot be added, changed, removed, or moved to another invoice. */
@EventSubscriber()
class LineSubscriber implements EntitySubscriberInterface<Line> {
  listenTo = (): typeof Line => Line
  beforeInsert = ({ manager, entity }: InsertEvent<Line>): Promise<void> => requireDraftOf(manager, entity)
  beforeRemove = ({ manager, databaseEntity }: RemoveEvent<Line>): Promise<void> =>
    requireDraftOf(manager, databaseEntity)

  async beforeUpdate({ manager, databaseEntity, entity }: UpdateEvent<Line>): Promise<void> {
    await requireDraftOf(manager, databaseEntity)
    await requireDraftOf(manager, entity as Line)
  }
}

async function requireDraftOf(manager: EntityManager, line: Line): Promise<void> {
  // Another request may send the invoice at the same time. On SQLite, transactions run one at a time.
  const lock = isSqlite ? undefined : ({ mode: 'pessimistic_write' } as const)
  const invoice = await manager.findOne(Invoice, { where: { id: line.invoice.id }, ...(lock && { lock }) })
  requireDraft(invoice ?? undefined)
}

function requireDraft(invoice: Invoice | undefined): void {
  if (invoice?.sent) throw problem(409, 'the invoice has been sent', { field: 'invoice' })
}

let world: World
beforeAll(async () => {
  const subscribers = [Thrower, InvoiceSubscriber, LineSubscriber]
  world = await openWorld({
    entities: [Ticket, Draft, Invoice, Line],
    source: { subscribers },
    before: (app) =>
      app.use(async (context, next) => {
        if (context.path !== '/own') return next()
        context.body = await world.mounted.visible(Ticket, anonymous).getMany()
      }),
  })
})
afterEach(() => {
  plan.place = undefined
})
afterAll(() => world.close())

const { get, post, put } = apiOf(() => world.url)
const remove = (path: string): Promise<Reply> => send(world.url, `DELETE /api/${path}`)
const faults = (): readonly unknown[] => (world.faults as unknown[]).splice(0)
const tables = async (): Promise<unknown> =>
  Promise.all(['ticket', 'draft'].map((name) => world.sql(`SELECT * FROM "${name}" ORDER BY "id"`)))

type Request = (id: number) => Promise<Reply>
const requests = {
  POST: () => post('ticket', { text: 'new', level: 2 }),
  PUT: (id) => put(`ticket/${id}`, { text: 'changed' }),
  DELETE: (id) => remove(`ticket/${id}`),
  GET: (id) => get(`ticket/${id}`),
  LIST: () => get('ticket/'),
} satisfies Record<string, Request>
const draftRequests = { DELETE: (id) => remove(`draft/${id}`) } satisfies Record<string, Request>

/** The places where application code can throw, with the requests that call this code. */
const places: readonly (readonly [place: string, of: Record<string, Request>, methods: readonly string[]])[] = [
  ['access rule', requests, ['POST', 'PUT', 'DELETE', 'GET', 'LIST']],
  ['scope', requests, ['POST', 'PUT', 'DELETE', 'GET', 'LIST']],
  ['validator', requests, ['POST', 'PUT']],
  ['@BeforeInsert', requests, ['POST']],
  ['beforeInsert', requests, ['POST']],
  ['afterInsert', requests, ['POST']],
  ['beforeUpdate', requests, ['PUT']],
  ['afterUpdate', requests, ['PUT']],
  ['beforeRemove', requests, ['DELETE']],
  ['afterRemove', requests, ['DELETE']],
  ['beforeSoftRemove', draftRequests, ['DELETE']],
  ['afterSoftRemove', draftRequests, ['DELETE']],
  ['@AfterLoad', requests, ['POST', 'PUT', 'GET', 'LIST']],
  ['beforeTransactionCommit', requests, ['POST', 'PUT', 'DELETE']],
]
const cases = places.flatMap(([place, of, methods]) =>
  methods.flatMap((method) => {
    const request = of[method]
    return request === undefined ? [] : [[place, method, of === requests ? 'ticket' : 'draft', request] as const]
  }),
)

async function makeRecord(resource: string): Promise<number> {
  const { id } = (await post(resource, { text: 'old', ...(resource === 'ticket' && { level: 1 }) })).json() as {
    id: number
  }
  return id
}

test.each(cases)('a problem is returned, and nothing is written: %s, %s', async (place, _, resource, request) => {
  const id = await makeRecord(resource)
  const before = await tables()
  Object.assign(plan, { place, error: () => problem(422, 'not today', { field: 'text' }) })
  const { status, headers, json } = await request(id)
  expect([status, headers['content-type'], json()]).toEqual([
    422,
    'application/problem+json; charset=utf-8',
    {
      type: 'about:blank',
      title: 'Unprocessable Entity',
      status: 422,
      detail: 'not today',
      errors: [{ field: 'text', message: 'not today' }],
    },
  ])
  plan.place = undefined
  expect(await tables()).toEqual(before)
  expect(faults()).toEqual([])
})

test.each(cases)('another error is a fault, and nothing is written: %s, %s', async (place, _, resource, request) => {
  const id = await makeRecord(resource)
  const before = await tables()
  Object.assign(plan, { place, error: () => Object.assign(new Error('canary'), { status: 409 }) })
  const { status, text } = await request(id)
  expect([status, text]).toEqual([500, expect.not.stringContaining('canary')])
  plan.place = undefined
  expect(await tables()).toEqual(before)
  expect(faults()).toMatchObject([{ message: 'canary' }])
})

test('a problem that a subscriber throws after the commit is a fault, and the write is stored', async () => {
  Object.assign(plan, { place: 'afterTransactionCommit', error: () => problem(409, 'too late') })
  const id = (await world.sql('SELECT "id" FROM "ticket"')).length
  const { status, text } = await post('ticket', { text: 'stored', level: 7 })
  plan.place = undefined
  expect([status, text]).toEqual([500, expect.not.stringContaining('too late')])
  expect(faults()).toMatchObject([{ cause: { message: 'too late' } }])
  expect(await world.sql('SELECT "id" FROM "ticket"')).toHaveLength(id + 1)
})

test('the problem of a listener has precedence over missing fields', async () => {
  Object.assign(plan, { place: 'beforeInsert', error: () => problem(409, 'closed') })
  expect((await post('ticket', { text: 'x' })).json()).toMatchObject({ status: 409, detail: 'closed' })
  plan.place = undefined
  expect((await post('ticket', { text: 'x' })).json()).toMatchObject({ status: 400, detail: 'level is required' })
})

/** Arguments of a problem, and the members and headers of its response. */
const documents: readonly (readonly [args: Parameters<typeof problem>, members: object, headers: object])[] = [
  [[400, 'a'], { title: 'Bad Request', detail: 'a', errors: undefined }, {}],
  [[403, 'a'], { title: 'Forbidden' }, { 'cache-control': 'no-store' }],
  [[499, 'a'], { title: 'Bad Request', status: 499 }, {}],
  [[409, 'taken', { field: 'x' }], { errors: [{ field: 'x', message: 'taken' }] }, {}],
  [
    [409, 'taken', { field: 'x', errors: [{ field: 'y', message: 'is old' }] }],
    {
      errors: [
        { field: 'x', message: 'taken' },
        { field: 'y', message: 'is old' },
      ],
    },
    {},
  ],
  [[400, '', { errors: [] }], { detail: '', errors: undefined }, {}],
  [[429, 'slow down', { headers: { 'Retry-After': '60' } }], { title: 'Too Many Requests' }, { 'retry-after': '60' }],
  [[503, 'closed'], { title: 'Service Unavailable' }, { 'retry-after': '1' }],
  [[503, 'closed', { headers: { 'retry-after': '9' } }], { status: 503 }, { 'retry-after': '9' }],
  [
    [409, 'a', { headers: { 'content-type': 'text/html', 'X-Own': 'b' } }],
    {},
    { 'content-type': 'application/problem+json; charset=utf-8', 'x-own': 'b' },
  ],
]

test.each(documents)(
  'a problem document has the members and headers of problem(...%j)',
  async (args, members, headers) => {
    Object.assign(plan, { place: 'access rule', error: () => problem(...args) })
    const reply = await get('ticket/')
    const body = reply.json() as object
    expect({ errors: undefined, ...body }).toMatchObject({ type: 'about:blank', status: args[0], ...members })
    expect(Object.keys(body).slice(0, 4)).toEqual(['type', 'title', 'status', 'detail'])
    expect(reply.status).toBe(args[0])
    expect(reply.headers).toMatchObject(headers)
    expect(faults()).toEqual([])
  },
)

test('a problem with the status 401 is the refusal by the access rule', async () => {
  Object.assign(plan, { place: 'beforeInsert', error: () => problem(401, 'canary') })
  const { status, headers, text } = await post('ticket', { text: 'a', level: 1 })
  expect([status, headers['www-authenticate'], text]).toEqual([
    401,
    'Basic realm="Login Required"',
    'Authentication failed',
  ])
})

const wrong: readonly (readonly [args: readonly unknown[]])[] = [
  ...[200, 302, 399, 500, 502, 504, 404.5, Number.NaN, '409', undefined].map((status) => [[status, 'a']] as const),
  [[409, undefined]],
  [[409, 7]],
  [[409, 'a', { fields: 'text' }]],
  [[409, 'a', { field: 7 }]],
  [[409, 'a', { errors: 'text' }]],
  [[409, 'a', { errors: [{ field: 'text' }] }]],
  [[409, 'a', { errors: [null] }]],
  [[409, 'a', { headers: { 'X Own': 'a' } }]],
  [[409, 'a', { headers: { 'X-Own': 'a\r\nb' } }]],
  [[409, 'a', { headers: { 'X-Own': undefined } }]],
]

test.each(wrong)('wrong arguments of a problem are a TypeError: %j', (args) => {
  expect(() => problem(...(args as [number, string, ProblemDetails]))).toThrow(
    expect.objectContaining({ name: 'TypeError' }),
  )
})

test('a problem of another copy of this package is recognised', async () => {
  jest.isolateModules(() => {
    const copy = require('typeorm-resources') as typeof import('typeorm-resources')
    expect(copy.problem).not.toBe(problem)
    Object.assign(plan, { place: 'beforeInsert', error: () => copy.problem(409, 'of a copy') })
  })
  expect((await post('ticket', { text: 'a', level: 1 })).json()).toMatchObject({ status: 409, detail: 'of a copy' })
})

test('in a route of the application, Koa renders the status and the text of a problem', async () => {
  Object.assign(plan, { place: 'scope', error: () => problem(404, 'no shop', { headers: { 'X-Own': 'a' } }) })
  const { status, text, headers } = await send(world.url, 'GET /own')
  expect([status, text, headers['x-own']]).toEqual([404, 'no shop', 'a'])
  faults()
})

test('a problem is published as a refusal, not as a fault', async () => {
  const events: unknown[] = []
  const listen = (event: unknown): void => void events.push(event)
  for (const name of ['refusal', 'fault']) subscribe(`typeorm-resources:${name}`, listen)
  Object.assign(plan, { place: '@AfterLoad', error: () => problem(410, 'canary') })
  await makeRecord('draft')
  await post('ticket', { text: 'a', level: 1 })
  for (const name of ['refusal', 'fault']) unsubscribe(`typeorm-resources:${name}`, listen)
  expect(events).toEqual([{ resource: 'ticket', method: 'POST', code: 'problem', status: 410 }])
})

describe('a sent invoice and its lines cannot be changed', () => {
  const ids: Record<string, number> = {}
  const idOf = (reply: Reply): number => (reply.json() as { id: number }).id
  beforeAll(async () => {
    const sent = idOf(await post('invoice', { customer: 'Ann' }))
    const draft = idOf(await post('invoice', { customer: 'Bob' }))
    const line = idOf(await post('line', { text: 'paper', invoice_id: sent }))
    const draftLine = idOf(await post('line', { text: 'ink', invoice_id: draft }))
    expect((await put(`invoice/${sent}`, { sent: true })).status).toBe(200)
    Object.assign(ids, { sent, draft, line, draftLine })
  })

  const steps: readonly (readonly [what: string, request: () => Promise<Reply>, status: number])[] = [
    ['change the invoice', () => put(`invoice/${ids['sent']}`, { customer: 'Cid' }), 409],
    ['delete the invoice', () => remove(`invoice/${ids['sent']}`), 409],
    ['add a line', () => post('line', { text: 'pens', invoice_id: ids['sent'] }), 409],
    ['change a line', () => put(`line/${ids['line']}`, { text: 'pens' }), 409],
    ['delete a line', () => remove(`line/${ids['line']}`), 409],
    ['move a line away', () => put(`line/${ids['line']}`, { invoice_id: ids['draft'] }), 409],
    ['move a line into it', () => put(`line/${ids['draftLine']}`, { invoice_id: ids['sent'] }), 409],
    ['change a line of a draft', () => put(`line/${ids['draftLine']}`, { text: 'pens' }), 200],
    ['delete a line of a draft', () => remove(`line/${ids['draftLine']}`), 204],
  ]

  test.each(steps)('%s', async (_, request, expected) => {
    const rows = (): Promise<unknown> =>
      Promise.all(['invoice', 'line'].map((name) => world.sql(`SELECT * FROM "${name}" ORDER BY "id"`)))
    const before = await rows()
    const { status, text } = await request()
    expect([status, text]).toEqual([expected, expect.anything()])
    if (expected !== 409) return expect(faults()).toEqual([])
    const errors = [{ field: 'invoice', message: 'the invoice has been sent' }]
    expect(JSON.parse(text)).toMatchObject({ title: 'Conflict', detail: 'the invoice has been sent', errors })
    expect(await rows()).toEqual(before)
  })
  test('change a line while another transaction sends the invoice', async () => {
    const invoice = idOf(await post('invoice', { customer: 'Dan' }))
    const line = idOf(await post('line', { text: 'paper', invoice_id: invoice }))
    const pending = await world.dataSource.transaction(async (manager) => {
      await manager.query(sqlOf(`UPDATE "invoice" SET "sent" = ${isSqlite ? 1 : 'true'} WHERE "id" = ${invoice}`))
      const request = put(`line/${line}`, { text: 'pens' })
      await setTimeout(200)
      return { request }
    })
    expect((await pending.request).status).toBe(409)
  })
})
