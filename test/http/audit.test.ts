import Koa from 'koa'
import {
  AfterLoad,
  Column,
  CreateDateColumn,
  DeleteDateColumn,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { ApiKeys, mountResources, Resource, UserAccount, userRule } from 'typeorm-resources'
import { type SendOptions, send } from '../client'
import { unhashed } from '../support/unhashed'
import { createDataSource, dropDatabase } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** The option `audit`: who has changed what from what to what (specification: Audit log). */

@Entity()
class Log {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) resource!: string
  @Column({ length: 40 }) record!: string
  @Column({ length: 10 }) action!: string
  @Column({ type: 'int', nullable: true }) principal!: number | null
  @Column({ type: 'simple-json' }) changes!: object
  @CreateDateColumn() at!: Date
}

/** Nothing sets the member. */
@Entity()
class IncompleteLog extends Log {
  @ManyToOne(() => Member, { nullable: false }) member!: Relation<Member>
}

class Address {
  @Column({ default: '', length: 20 }) city!: string
}

@Entity()
@UserAccount({ username: 'name', ...unhashed })
@Resource({ auth: userRule({ read: 'public' }), bulk: true, exclude: ['password'] })
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) name!: string
  @Column({ length: 20 }) password!: string
}

@Entity()
@Resource({
  auth: userRule(),
  bulk: true,
  nested: ['lines'],
  may: { create: { title__ne: 'forbidden' }, restore: true },
})
class Invoice {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) title!: string
  @Column({ type: 'decimal', precision: 12, scale: 2, nullable: true }) price!: string | null
  @Column(() => Address) address!: Address
  @ManyToOne(() => Member) member!: Member | null
  @DeleteDateColumn() deleted!: Date | null
  @OneToMany(
    () => Line,
    ({ invoice }) => invoice,
  )
  lines!: Relation<Line>[]
}

@Entity()
@Resource({ auth: userRule() })
class Line {
  @PrimaryColumn({ length: 10 }) code!: string
  @Column({ type: 'int', default: 1 }) quantity!: number
  @ManyToOne(
    () => Invoice,
    ({ lines }) => lines,
    { nullable: false },
  )
  invoice!: Relation<Invoice>
}

@Entity()
@Resource({ ownerField: 'user' })
@ApiKeys()
class Token {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) prefix!: string
  @Column({ length: 64 }) hash!: string
  @ManyToOne(() => Member, { nullable: false }) user!: Relation<Member>
}

/** Shows only the end of a number. */
@Entity()
@Resource({ auth: userRule(), bulk: true })
class Card {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) number!: string
  @Column({ default: '' }) owner!: string
  @AfterLoad() maskNumber(): void {
    this.number = `…${this.number.slice(-2)}`
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Log, Member, Invoice, Line, Token, Card],
    columnOrder: 0,
    seed: async (dataSource) => {
      await dataSource.getRepository(Member).insert([
        { name: 'ann', password: 'ann' },
        { name: 'bob', password: 'bob' },
      ])
    },
    mount: { audit: { entity: Log }, batch: true },
  })
})
afterAll(() => world.close())

let last = 0
/** The entries since the last call. */
async function entries(): Promise<readonly (readonly unknown[])[]> {
  const all = await world.dataSource.getRepository(Log).find({ order: { id: 'ASC' } })
  const added = all.filter(({ id }) => id > last)
  last = all.at(-1)?.id ?? last
  for (const { at } of added) expect(Math.abs(Date.now() - at.getTime())).toBeLessThan(26 * 3600 * 1000)
  return added.map(({ principal, action, resource, record, changes }) => [principal, action, resource, record, changes])
}

const ask = (line: string, options: SendOptions = {}) =>
  send(world.url, line.replace(' ', ' /api/'), { as: 'ann', ...options })
const csv = { headers: { 'Content-Type': 'text/csv' } }

test.each<[string, string, SendOptions, number, readonly (readonly unknown[])[]]>([
  [
    'a new record',
    'POST invoice/',
    { body: { title: 'A', price: '1.50', address: { city: 'Ulm' } } },
    201,
    [[1, 'create', 'invoice', '1', { title: { to: 'A' }, price: { to: '1.50' }, address: { to: { city: 'Ulm' } } }]],
  ],
  [
    'an update, by another user',
    'PATCH invoice/1/',
    { as: 'bob', body: { title: 'B', price: '1.50', member_id: 2 } },
    200,
    [[2, 'update', 'invoice', '1', { title: { from: 'A', to: 'B' }, member_id: { from: null, to: 2 } }]],
  ],
  ['an update that changes nothing', 'PATCH invoice/1/', { body: { title: 'B' } }, 200, []],
  ['a refused update', 'PATCH invoice/1/', { body: { title: 'B', price: 'x' } }, 400, []],
  [
    'several new records',
    'POST invoice/',
    { body: [{ title: 'C' }, { title: 'D', price: null }] },
    201,
    [
      [1, 'create', 'invoice', '2', { title: { to: 'C' }, address: { to: { city: '' } } }],
      [1, 'create', 'invoice', '3', { title: { to: 'D' }, address: { to: { city: '' } } }],
    ],
  ],
  [
    'several updates, of different values',
    'PATCH invoice/?id__in=1,2',
    { body: { price: '9.00' } },
    200,
    [
      [1, 'update', 'invoice', '1', { price: { from: '1.50', to: '9.00' } }],
      [1, 'update', 'invoice', '2', { price: { from: null, to: '9.00' } }],
    ],
  ],
  [
    'a soft deletion',
    'DELETE invoice/3/',
    {},
    204,
    [[1, 'delete', 'invoice', '3', { title: { from: 'D' }, address: { from: { city: '' } } }]],
  ],
  [
    'a restored record',
    'POST invoice/3/restore/',
    {},
    200,
    [[1, 'restore', 'invoice', '3', { title: { to: 'D' }, address: { to: { city: '' } } }]],
  ],
  [
    'related records, with a key of text',
    'PATCH invoice/3/',
    { body: { lines: [{ code: 'x' }] } },
    200,
    [[1, 'create', 'line', 'x', { code: { to: 'x' }, quantity: { to: 1 }, invoice_id: { to: 3 } }]],
  ],
  [
    'their deletion',
    'PUT invoice/3/',
    { body: { title: 'D', lines: [] } },
    200,
    [[1, 'delete', 'line', 'x', { code: { from: 'x' }, quantity: { from: 1 }, invoice_id: { from: 3 } }]],
  ],
  [
    'a hidden field, without its values',
    'PATCH member/2/',
    { body: { password: 'new' } },
    200,
    [[1, 'update', 'member', '2', { password: {} }]],
  ],
  [
    'the hidden field of a new record',
    'POST member/',
    { body: { name: 'eve', password: 'e' } },
    201,
    [[1, 'create', 'member', '3', { name: { to: 'eve' }, password: {} }]],
  ],
  [
    'a new API key, with its prefix and without its hash',
    'POST token/',
    { body: {} },
    201,
    [[1, 'create', 'token', '1', { prefix: { to: expect.stringMatching(/^ak_/) }, user_id: { to: 1 }, hash: {} }]],
  ],
  ['several deletions', 'DELETE member/?name=eve', {}, 200, [[1, 'delete', 'member', '3', { name: { from: 'eve' } }]]],
  ['an import that is only checked', 'POST member/?dry_run=true', { ...csv, body: 'name,password\nx,y' }, 200, []],
  ['a record that the permission refuses', 'POST invoice/', { body: { title: 'forbidden' } }, 403, []],
  [
    'a batch that fails',
    'POST -/batch',
    {
      body: [
        { method: 'POST', path: '/api/member/', body: { name: 'x', password: 'x' } },
        { method: 'POST', path: '/api/invoice/', body: { title: 'B' } },
      ],
    },
    409,
    [],
  ],
])('%s', async (_, line, options, status, expected) => {
  const reply = await ask(line, options)
  expect([reply.status, reply.text]).toEqual([status, expect.anything()])
  expect(await entries()).toEqual(expected)
})

test('values are stored as @AfterLoad listeners change them', async () => {
  await ask('POST card/', { body: { number: '4567' } })
  await ask('PATCH card/1/', { body: { owner: 'bob', number: '1267' } })
  await ask('PATCH card/?id=1', { body: { number: '1289' } })
  await ask('POST card/', { body: [{ number: '3333' }, { number: '4444' }] })
  await ask('DELETE card/1/')
  await ask('DELETE card/?id__in=2,3')
  expect((await entries()).map(([, , , record, changes]) => [record, changes])).toEqual([
    ['1', { number: { to: '…67' }, owner: { to: '' } }],
    ['1', { number: { from: '…67', to: '…67' }, owner: { from: '', to: 'bob' } }],
    ['1', { number: { from: '…67', to: '…89' } }],
    ['2', { number: { to: '…33' }, owner: { to: '' } }],
    ['3', { number: { to: '…44' }, owner: { to: '' } }],
    ['1', { number: { from: '…89' }, owner: { from: 'bob' } }],
    ['2', { number: { from: '…33' }, owner: { from: '' } }],
    ['3', { number: { from: '…44' }, owner: { from: '' } }],
  ])
})

test('an import of 450 records has an entry for each', async () => {
  const titles = Array.from({ length: 450 }, (_, index) => `title ${index}`)
  expect((await ask('POST invoice/', { ...csv, body: ['title', ...titles].join('\n') })).status).toBe(201)
  const address = { to: { city: '' } }
  expect((await entries()).map(([, , , , changes]) => changes)).toEqual(
    titles.map((title) => ({ title: { to: title }, address })),
  )
})

test('nothing is written if the entry cannot be stored', async () => {
  await world.sql('ALTER TABLE "log" RENAME TO "log_away"')
  const reply = await ask('POST invoice/', { body: { title: 'lost' } })
  await world.sql('ALTER TABLE "log_away" RENAME TO "log"')
  expect(reply.status).toBe(500)
  // The only fault of all tests.
  expect(world.faults).toHaveLength(1)
  expect((await ask('GET invoice/?title=lost')).json()).toMatchObject({ objects: [] })
})

test.each([
  [
    'an entity of another data source',
    [Member, Invoice, Line],
    '"audit": the entity does not belong to the data source: add it to "entities"',
  ],
  [
    'an entity without the columns',
    [Log, Member, Invoice, Line],
    '"audit": Member has no column for resource, record, action, principal, changes',
  ],
  [
    'an entity with a required property that nothing sets',
    [IncompleteLog, Member, Invoice, Line],
    '"audit": nothing sets member of IncompleteLog: make it a resource whose option "preset" returns a value',
  ],
])('%s is a mistake at mount', async (_, entities, message) => {
  const dataSource = await createDataSource({ entities, synchronize: true })
  await dataSource.initialize()
  const entity = entities.includes(Log) ? Member : entities.includes(IncompleteLog) ? IncompleteLog : Log
  expect(() => mountResources(new Koa(), dataSource, { audit: { entity } })).toThrow(message)
  await dataSource.destroy()
  await dropDatabase(dataSource)
})
