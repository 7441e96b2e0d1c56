import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  Column,
  DeleteDateColumn,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  type TransactionCommitEvent,
  Tree,
  TreeChildren,
  TreeParent,
  type UpdateEvent,
} from 'typeorm'
import { type ChangeEvent, IdempotencyKey, problem, Resource } from 'typeorm-resources'
import { type SendOptions, send } from '../client'
import { openWorld, type World } from '../world/world'

/** Change events: what the requests of a mount have committed (specification: Change events). */

const auth = () => ({ id: 'ann' })
const me = { id: 'ann' }

@Entity()
@Resource({
  auth,
  bulk: true,
  nested: ['lines'],
  exclude: ['secret'],
  may: { create: { title__ne: 'forbidden' }, restore: true },
})
class Invoice {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) title!: string
  @Column({ default: 0, type: 'int' }) amount!: number
  @Column({ default: '', length: 20 }) secret!: string
  @DeleteDateColumn() deleted!: Date | null
  @OneToMany(
    () => Line,
    ({ invoice }) => invoice,
  )
  lines!: Relation<Line>[]
}

@Entity()
@Resource({ auth })
class Line {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
  @ManyToOne(
    () => Invoice,
    ({ lines }) => lines,
    { nullable: false },
  )
  invoice!: Relation<Invoice>
}

/** With a key of two columns, and a subscriber. */
@Entity()
@Resource({ auth, bulk: true })
class Place {
  @PrimaryColumn({ length: 10 }) country!: string
  @PrimaryColumn({ type: 'int' }) code!: number
  @Column({ default: '', length: 20 }) name!: string
}

/** Written with one statement. */
@Entity()
@Resource({ auth, bulk: true })
class Plain {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

@Entity()
@Tree('materialized-path')
@Resource({ auth })
class Branch {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @TreeChildren() children!: Branch[]
  @TreeParent() parent!: Branch | null
}

@EventSubscriber()
class PlaceSubscriber implements EntitySubscriberInterface<Place> {
  listenTo() {
    return Place
  }
  beforeUpdate({ entity }: UpdateEvent<Place>) {
    if (entity?.['name'] === 'refused') throw problem(409, 'refused')
  }
  afterTransactionCommit(_: TransactionCommitEvent) {
    if (failsAfterCommit) throw new Error('after the commit')
  }
}
let failsAfterCommit = false

let world: World
const events: ChangeEvent[] = []

beforeAll(async () => {
  world = await openWorld({
    entities: [Invoice, Line, Place, Plain, Branch, IdempotencyKey],
    source: { subscribers: [PlaceSubscriber] },
    mount: { batch: true },
  })
  world.mounted.on('change', (event) => events.push(event))
})
afterAll(() => world.close())

const ask = (line: string, options: SendOptions = {}) => send(world.url, line.replace(' ', ' /api/'), options)

/** The changes since the last call, as `update plain 1 name`. */
const seen = (): readonly string[] =>
  events.splice(0).map(({ action, resource, id, principal, fields }) => {
    expect(principal).toEqual(me)
    return [action, resource, id, ...fields].join(' ')
  })

const csv = { headers: { 'Content-Type': 'text/csv' } }
const keyed = { headers: { 'Idempotency-Key': '"one"' } }
const plainBatch = (...paths: readonly string[]) =>
  paths.map((path, index) => ({ method: 'POST', path, body: { name: `batch ${index}` } }))

test.each<[string, string, SendOptions, number, readonly string[]]>([
  ['POST', 'POST plain/', { body: { name: 'a' } }, 201, ['create plain 1 name']],
  ['PUT', 'PUT plain/1/', { body: { name: 'b' } }, 200, ['update plain 1 name']],
  ['PUT that changes nothing', 'PUT plain/1/', { body: { name: 'b' } }, 200, []],
  ['PATCH of a missing record', 'PATCH plain/99/', { body: { name: 'b' } }, 404, []],
  ['a wrong value', 'POST plain/', { body: { name: 5 } }, 400, []],
  [
    'POST of an array',
    'POST plain/',
    { body: [{ name: 'c' }, { name: 'd' }] },
    201,
    ['create plain 2 name', 'create plain 3 name'],
  ],
  [
    'PATCH of several records',
    'PATCH plain/?id__gte=2',
    { body: { name: 'e' } },
    200,
    ['update plain 2 name', 'update plain 3 name'],
  ],
  ['a bulk PATCH of too many', 'PATCH plain/?id__gte=1&max=2', { body: { name: 'f' } }, 409, []],
  ['an import', 'POST plain/', { ...csv, body: 'name\nx\ny' }, 201, ['create plain 4 name', 'create plain 5 name']],
  ['DELETE of several records', 'DELETE plain/?id__in=4,5', {}, 200, ['delete plain 4', 'delete plain 5']],
  ['DELETE', 'DELETE plain/3/', {}, 204, ['delete plain 3']],
  ['a second DELETE', 'DELETE plain/3/', {}, 404, []],
  [
    'a record with related ones',
    'POST invoice/',
    { body: { title: 'A', lines: [{ text: 'x' }] } },
    201,
    ['create invoice 1 title', 'create line 1 text invoice_id'],
  ],
  ['a hidden field', 'PATCH invoice/1/', { body: { secret: 's' } }, 200, ['update invoice 1 secret']],
  [
    'related records that change',
    'PUT invoice/1/',
    { body: { title: 'B', lines: [{ text: 'y' }] } },
    200,
    ['update invoice 1 title', 'delete line 1', 'create line 2 text invoice_id'],
  ],
  ['a permission that refuses the new record', 'POST invoice/', { body: { title: 'forbidden' } }, 403, []],
  ['a unique value that is taken', 'POST invoice/', { body: { title: 'B' } }, 409, []],
  ['an array with one taken value', 'POST invoice/', { body: [{ title: 'C' }, { title: 'B' }] }, 409, []],
  [
    'an upsert that updates',
    'POST invoice/?on_conflict=title',
    { body: { title: 'B', amount: 5 } },
    200,
    ['update invoice 1 amount'],
  ],
  ['a soft deletion', 'DELETE invoice/1/', {}, 204, ['delete invoice 1']],
  ['a restored record', 'POST invoice/1/restore/', {}, 200, ['restore invoice 1']],
  [
    'a key of two columns',
    'POST place/',
    { body: { country: 'de', code: 1, name: 'x' } },
    201,
    ['create place de,1 country code name'],
  ],
  ['its update, with a subscriber', 'PATCH place/de,1/', { body: { name: 'y' } }, 200, ['update place de,1 name']],
  [
    'several updates, with a subscriber',
    'PATCH place/?country=de',
    { body: { name: 'z' } },
    200,
    ['update place de,1 name'],
  ],
  ['a subscriber that refuses', 'PATCH place/de,1/', { body: { name: 'refused' } }, 409, []],
  ['its deletion', 'DELETE place/de,1/', {}, 204, ['delete place de,1']],
  ['a node of a tree', 'POST branch/', { body: { name: 'root' } }, 201, ['create branch 1 name']],
  ['a child', 'POST branch/', { body: { name: 'child', parent_id: 1 } }, 201, ['create branch 2 name parent_id']],
  ['a move', 'PATCH branch/2/', { body: { parent_id: null } }, 200, ['update branch 2 parent_id']],
  [
    'a batch',
    'POST -/batch',
    { body: plainBatch('/api/plain/', '/api/plain/') },
    200,
    ['create plain 6 name', 'create plain 7 name'],
  ],
  ['a key', 'POST plain/', { ...keyed, body: { name: 'key' } }, 201, ['create plain 8 name']],
  ['the key again', 'POST plain/', { ...keyed, body: { name: 'key' } }, 201, []],
  ['an import that is only checked', 'POST plain/?dry_run=true', { ...csv, body: 'name\nx' }, 200, []],
  ['a batch that is refused', 'POST -/batch', { body: plainBatch('/api/plain/', '/api/invoice/') }, 400, []],
])('%s', async (_, line, options, status, expected) => {
  const reply = await ask(line, options)
  expect([reply.status, reply.text]).toEqual([status, expect.anything()])
  expect(seen()).toEqual(expected)
})

test('what is committed is reported, even if a subscriber fails after the commit', async () => {
  failsAfterCommit = true
  const reply = await ask('POST place/', { body: { country: 'fr', code: 2 } })
  failsAfterCommit = false
  expect(reply.status).toBe(500)
  expect(seen()).toEqual(['create place fr,2 country code'])
  expect((await ask('GET place/fr,2/')).status).toBe(200)
})

test('the record can be read when the listener is called', async () => {
  const counts: Promise<unknown>[] = []
  const remove = world.mounted.on('change', ({ id }) => {
    counts.push(world.sql(`SELECT "name" FROM "plain" WHERE "id" = ${Number(id)}`))
  })
  await ask('POST plain/', { body: [{ name: 'one' }, { name: 'two' }] })
  remove()
  expect(await Promise.all(counts)).toEqual([[{ name: 'one' }], [{ name: 'two' }]])
  seen()
})

test('errors of listeners are faults and do not change the response', async () => {
  const remove = [
    world.mounted.on('change', () => {
      throw new Error('thrown')
    }),
    world.mounted.on('change', async () => {
      throw new Error('rejected')
    }),
  ]
  expect((await ask('POST plain/', { body: { name: 'x' } })).status).toBe(201)
  for (const one of remove) one()
  expect(world.faults).toEqual(expect.arrayContaining([new Error('thrown'), new Error('rejected')]))
  expect(seen().length).toBe(1)
})

test('the channel typeorm-resources:change', async () => {
  const published: unknown[] = []
  const listener = (event: unknown): void => void published.push(event)
  subscribe('typeorm-resources:change', listener)
  await ask('PATCH plain/1/', { body: { name: 'channel' } })
  unsubscribe('typeorm-resources:change', listener)
  await ask('PATCH plain/1/', { body: { name: 'silent' } })
  expect(published).toEqual([{ resource: 'plain', action: 'update', id: 1, principal: me, fields: ['name'] }])
  seen()
})

test('changes of requests at the same time are complete, and in order for each record', async () => {
  const values = Array.from({ length: 20 }, (_, index) => `v${index}`)
  const order: string[] = []
  const remove = world.mounted.on('change', ({ id }) => void order.push(String(id)))
  await Promise.all(values.map((name) => ask('POST plain/', { body: { name } })))
  remove()
  expect(new Set(order).size).toBe(20)
  seen()
})

test('another event, or a listener that is no function, is a mistake of the call', () => {
  const on = world.mounted.on as (event: string, listener?: () => void) => void
  expect(() => on('changed', () => {})).toThrow(new TypeError('there is no event "changed"; events: change'))
  expect(() => on('change')).toThrow(new TypeError('the listener of "change" must be a function'))
})

describe('the changes of one import or array that are kept for listeners are limited', () => {
  let limited: World
  beforeAll(async () => {
    limited = await openWorld({ entities: [Plain], mount: { limits: { changes: 3 }, live: true } })
  })
  afterAll(() => limited.close())

  const records = (count: number) => Array.from({ length: count }, () => ({ name: 'a' }))
  const lines = (count: number): SendOptions => ({
    headers: { 'Content-Type': 'application/x-ndjson' },
    body: records(count)
      .map((record) => `${JSON.stringify(record)}\n`)
      .join(''),
  })
  const post = (query: string, options: SendOptions) => send(limited.url, `POST /api/plain/${query}`, options)
  const stored = async (): Promise<number> => (await limited.sql('SELECT "id" FROM "plain"')).length

  test.each<[string, string, SendOptions, number]>([
    ['an import of three', '', lines(3), 201],
    ['an import of four', '', lines(4), 413],
    ['an array of four', '', { body: records(4) }, 413],
    ['a check of four', '?dry_run=true', lines(4), 413],
  ])('%s', async (_, query, options, status) => {
    const before = await stored()
    const remove = limited.mounted.on('change', () => undefined)
    const reply = await post(query, options)
    remove()
    expect([reply.status, await stored()]).toEqual([status, before + (status === 201 ? 3 : 0)])
    if (status === 413) expect(reply.text).toMatch(/at most 3 records: send fewer records/)
  })

  test('without listeners, live lists do not need the changes', async () => {
    expect((await post('', lines(4))).status).toBe(201)
  })
})
