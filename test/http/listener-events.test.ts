import {
  AfterInsert,
  AfterUpdate,
  BeforeRemove,
  BeforeUpdate,
  ChildEntity,
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  JoinColumn,
  ManyToOne,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type RemoveEvent,
  type SoftRemoveEvent,
  TableInheritance,
  Tree,
  TreeChildren,
  TreeParent,
  type UpdateEvent,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll })
class Invoice {
  @PrimaryGeneratedColumn() id!: number
  /** The key object of a line must not have the initial values of the class. */
  @Column() sent: boolean = false
}

/** Has a key of two columns. */
@Entity()
@Resource({ auth: permitAll, rename: { house: 'house_no' } })
class Shelf {
  @PrimaryColumn() house!: number
  @PrimaryColumn() position!: number
}

/** Has a key that is a foreign key. */
@Entity()
@Resource({ auth: permitAll })
class Receipt {
  @ManyToOne(() => Invoice) @JoinColumn() invoice!: Invoice
  @PrimaryColumn() invoiceId!: number
}

class Origin {
  @Column({ nullable: true, type: 'varchar' }) text!: string | null
  @ManyToOne(() => Invoice, { nullable: true }) copied!: Invoice | null
}

/** What the listeners of the class find, which get no event. */
const own: unknown[] = []

@Entity()
@Resource({ auth: permitAll, exclude: ['hidden'] })
class Line {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Invoice, { nullable: true }) invoice!: Invoice | null
  /** The initial value must not be stored. */
  @ManyToOne(() => Invoice, { nullable: true }) initial: Invoice | null = null
  @ManyToOne(() => Invoice, { nullable: true }) hidden!: Invoice | null
  /** The foreign key has a property of its own. */
  @Column({ nullable: true, type: 'int' }) billId!: number | null
  @ManyToOne(() => Invoice, { nullable: true }) @JoinColumn({ name: 'billId' }) bill!: Invoice | null
  @ManyToOne(() => Shelf, { nullable: true }) shelf!: Shelf | null
  @ManyToOne(() => Receipt, { nullable: true }) receipt!: Receipt | null
  @ManyToOne(() => Line, { nullable: true }) previous!: Line | null
  @OneToOne(() => Invoice, { nullable: true }) @JoinColumn() only!: Invoice | null
  @Column(() => Origin) origin!: Origin

  @AfterInsert() @BeforeUpdate() @AfterUpdate() @BeforeRemove() remember(): void {
    own.push([this.invoice?.id, this.shelf?.position, this.previous?.id])
  }
  @BeforeUpdate() move(): void {
    if (this.text === 'moved') this.billId = 2
    if (this.text === 'cleared') this.invoice = null
    if (this.text === 'keyed') (this.invoice as Invoice).id = 2
  }
}

@Entity()
@Tree('closure-table')
@Resource({ auth: permitAll })
class Folder {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @TreeParent() parent!: Folder | null
  @TreeChildren() children!: Folder[]
}

/** Has a lazy relation, and a child class with a relation in the same table. */
@Entity()
@TableInheritance({ column: 'kind' })
@Resource({ auth: permitAll })
class Paper {
  @PrimaryGeneratedColumn() id!: number
  @Column() kind!: string
  @Column() text!: string
  @ManyToOne(() => Invoice, { nullable: true, lazy: true }) lazy!: Promise<Invoice | null>

  @BeforeUpdate() async remember(): Promise<void> {
    own.push(await this.lazy)
  }
}

@ChildEntity()
@Resource({ auth: permitAll })
class Letter extends Paper {
  @ManyToOne(() => Invoice, { nullable: true }) about!: Invoice | null
}

type AnyEvent = UpdateEvent<object> | RemoveEvent<object> | SoftRemoveEvent<object>
/** The entities of the events since the last request, as plain objects. */
let stored: Record<string, unknown> = {}
let written: Record<string, unknown> = {}
const plain = (entity: unknown): unknown => JSON.parse(JSON.stringify(entity ?? null))

@EventSubscriber()
class Recorder implements EntitySubscriberInterface {
  beforeUpdate = (event: AnyEvent): void => this.record('beforeUpdate', event)
  afterUpdate = (event: AnyEvent): void => this.record('afterUpdate', event)
  beforeRemove = (event: AnyEvent): void => this.record('beforeRemove', event)
  afterRemove = (event: AnyEvent): void => this.record('afterRemove', event)
  afterInsert = ({ entity }: InsertEvent<object>): void => {
    written['afterInsert'] = plain(entity)
  }

  private record(name: string, { databaseEntity, entity }: AnyEvent): void {
    stored[name] = plain(databaseEntity)
    written[name] = plain(entity)
  }
}

let world: World
beforeAll(async () => {
  const entities = [Invoice, Shelf, Receipt, Line, Folder, Paper, Letter]
  world = await openWorld({ entities, source: { subscribers: [Recorder] } })
  for (const _ of [1, 2]) expect((await post('invoice', {})).status).toBe(201)
  await world.sql('INSERT INTO "shelf" ("house", "position") VALUES (4, 5)')
  await world.sql('INSERT INTO "receipt" ("invoiceId") VALUES (2)')
})
beforeEach(() => {
  own.length = 0
  stored = {}
  written = {}
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { post, put, get } = apiOf(() => world.url)
const remove = (path: string): ReturnType<typeof send> => send(world.url, `DELETE /api/${path}`)

/** Creates a record. @returns its id */
async function make(resource: string, body: object): Promise<number> {
  const { status, json } = await post(resource, body)
  expect([status, json()]).toEqual([201, expect.anything()])
  const { id } = json() as { id: number }
  return id
}

const filled = {
  text: 'a',
  invoice_id: 1,
  initial_id: 1,
  hidden_id: 2,
  bill_id: 1,
  shelf_id: '4,5',
  receipt_id: 2,
  only_id: null,
  origin: { text: 'o', copied_id: 2 },
}

/** A body of POST, and the to-one relations that the record then has. */
const cases = [
  [
    'foreign keys',
    filled,
    {
      invoice: { id: 1 },
      initial: { id: 1 },
      hidden: { id: 2 },
      bill: { id: 1 },
      shelf: { house: 4, position: 5 },
      receipt: { invoiceId: 2 },
      previous: null,
      only: null,
      origin: { text: 'o', copied: { id: 2 } },
    },
  ],
  [
    'null',
    { text: 'a' },
    {
      invoice: null,
      initial: null,
      hidden: null,
      bill: null,
      shelf: null,
      receipt: null,
      previous: null,
      only: null,
      origin: { text: null, copied: null },
    },
  ],
] as const

test.each(cases)('the entities of events have the keys of to-one relations: %s', async (_, body, expected) => {
  const { bill, ...withoutProperty } = expected
  const { hidden, ...shown } = withoutProperty
  const id = await make('line', body)
  expect(written).toEqual({ afterInsert: expect.objectContaining(hidden === null ? shown : withoutProperty) })
  expect((await put(`line/${id}`, { text: 'b' })).status).toBe(200)
  const before = { ...expected, text: 'a', billId: bill?.id ?? null }
  expect(stored).toEqual({
    beforeUpdate: expect.objectContaining(before),
    afterUpdate: expect.objectContaining(before),
  })
  expect(written['beforeUpdate']).toEqual(expect.objectContaining({ ...withoutProperty, text: 'b' }))
  const { hidden_id: _hidden, ...shownValues } = { hidden_id: 0, ...body }
  expect((await get(`line/${id}/`)).json()).toMatchObject({ ...shownValues, text: 'b' })
  stored = {}
  expect((await remove(`line/${id}`)).status).toBe(204)
  const removed = expect.objectContaining({ ...expected, text: 'b' })
  expect(stored).toEqual({ beforeRemove: removed, afterRemove: removed })
})

test('the stored entity has the same keys as with the save of a repository', async () => {
  const id = await make('line', filled)
  const names = ['invoice', 'initial', 'hidden', 'bill', 'billId', 'shelf', 'origin'] as const
  const keys = (): object => {
    const entity = stored['beforeUpdate'] as Record<string, unknown>
    return Object.fromEntries(names.map((name) => [name, entity[name]]))
  }
  await put(`line/${id}`, { text: 'b' })
  const ours = keys()
  const given = { invoice: { id: 2 }, initial: { id: 2 }, hidden: { id: 1 }, bill: { id: 1 } }
  const origin = { text: 'o', copied: { id: 1 } }
  const shelf = { house: 4, position: 5 }
  await world.dataSource.getRepository(Line).save({ id, ...given, shelf, text: 'c', origin })
  expect(keys()).toEqual(ours)
})

test('the stored entity has the old keys, and the entity the new ones', async () => {
  const first = await make('line', { text: 'first' })
  const id = await make('line', { ...filled, previous_id: first })
  own.length = 0
  const updated = await put(`line/${id}`, { invoice_id: 2, previous_id: id, shelf_id: null, initial_id: null })
  expect(updated.json()).toMatchObject({ invoice_id: 2, previous_id: id, shelf_id: null, initial_id: null })
  const shelf = { house: 4, position: 5 }
  expect(stored['beforeUpdate']).toMatchObject({
    invoice: { id: 1 },
    previous: { id: first },
    shelf,
    initial: { id: 1 },
  })
  const changed = { invoice: { id: 2 }, previous: { id }, shelf: null, initial: null, hidden: { id: 2 } }
  expect(written['beforeUpdate']).toMatchObject(changed)
  expect(written['afterUpdate']).toMatchObject(changed)
  expect(own).toEqual([
    [2, undefined, id],
    [2, undefined, id],
  ])
})

test('listeners of the class find the keys in the entity', async () => {
  const id = await make('line', filled)
  await put(`line/${id}`, { text: 'b' })
  await remove(`line/${id}`)
  expect(own).toEqual(Array.from({ length: 4 }, () => [1, 5, undefined]))
})

test.each([
  ['moved', { bill_id: 2, invoice_id: 1 }],
  ['cleared', { bill_id: 1, invoice_id: null }],
  ['keyed', { bill_id: 1, invoice_id: 2 }],
])('a foreign key that a listener changes is stored: %s', async (text, expected) => {
  const id = await make('line', filled)
  expect((await put(`line/${id}`, { text })).json()).toMatchObject({ text, ...expected })
  expect((await get(`line/${id}/`)).json()).toMatchObject({ text, ...expected, shelf_id: '4,5', initial_id: 1 })
})

test('the entities of nodes of a tree have the key of the parent', async () => {
  const parent = await make('folder', { text: 'a' })
  const id = await make('folder', { text: 'b', parent_id: parent })
  await put(`folder/${id}`, { text: 'c' })
  expect(stored['beforeUpdate']).toMatchObject({ text: 'b', parent: { id: parent } })
  await put(`folder/${id}`, { parent_id: null })
  expect(stored['beforeUpdate']).toMatchObject({ parent: { id: parent } })
  expect(written['beforeUpdate']).toMatchObject({ parent: null })
  await remove(`folder/${id}`)
  expect(stored['beforeRemove']).toMatchObject({ text: 'c', parent: null })
})

test.each(['paper', 'letter'])(
  'the entities of a child class have its relations, and lazy ones: as %s',
  async (name) => {
    const id = await make('letter', { text: 'a', lazy_id: 2, about_id: 1 })
    const updated = await put(`${name}/${id}`, { text: 'b' })
    expect([updated.status, updated.json()]).toMatchObject([200, { text: 'b', lazy_id: 2 }])
    expect(stored['beforeUpdate']).toMatchObject({ text: 'a', about: { id: 1 }, __lazy__: { id: 2 } })
    expect(own).toEqual([{ id: 2 }])
    expect((await get(`letter/${id}/`)).json()).toMatchObject({ text: 'b', lazy_id: 2, about_id: 1 })
  },
)
