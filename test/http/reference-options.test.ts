import Koa from 'koa'
import {
  Column,
  type DataSource,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { ConfigError, mountResources, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { createDataSource, dropDatabase } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Options of relations whose foreign keys have several columns, which are properties too. */

const byHeader: Rule = ({ context }) => ({ id: Number(context.get('X-Me') || 1) })
const isBoss = (me: object): boolean => 'id' in me && me.id === 2
const isClerk = (): boolean => false

@Entity('purchase')
@Resource({ name: 'purchase', auth: byHeader, nested: ['lines', 'loose'] })
class Purchase {
  @PrimaryColumn('int') company!: number
  @PrimaryColumn('int') number!: number
  @OneToMany(
    () => Line,
    ({ mainPurchase }) => mainPurchase,
  )
  lines!: Relation<Line>[]
  @OneToMany(
    () => Loose,
    ({ mainPurchase }) => mainPurchase,
  )
  loose!: Relation<Loose>[]
}

abstract class Base {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int', nullable: true, unique: true }) code!: number | null
  @Column({ type: 'int', nullable: true }) company!: number | null
  @Column({ type: 'int', nullable: true }) orderNumber!: number | null
  @ManyToOne(() => Purchase, { nullable: true })
  @JoinColumn([
    { name: 'company', referencedColumnName: 'company' },
    { name: 'orderNumber', referencedColumnName: 'number' },
  ])
  order!: Relation<Purchase> | null
  @ManyToOne(() => Purchase, { nullable: true })
  @JoinColumn([
    { name: 'mainCompany', referencedColumnName: 'company' },
    { name: 'mainNumber', referencedColumnName: 'number' },
  ])
  mainPurchase!: Relation<Purchase> | null
}

const onlyBoss = { write: isBoss }

/** Only the boss writes the order, through its columns. */
@Entity()
@Resource({
  auth: byHeader,
  bulk: true,
  fields: { order: onlyBoss, company: onlyBoss, orderNumber: onlyBoss },
})
class Line extends Base {}

/** The company is a field that everybody writes. */
@Entity()
@Resource({
  auth: byHeader,
  bulk: true,
  readOnly: ['order', 'orderNumber'],
  fields: { company: { write: true } },
})
class Loose extends Base {}

/** Only the boss sees the order. */
@Entity()
@Resource({
  auth: byHeader,
  fields: { order: { read: isBoss }, company: { read: isBoss }, orderNumber: { read: isBoss } },
})
class Secret extends Base {}

@Entity()
class Plain extends Base {}

class Delivery {
  @Column({ type: 'int', nullable: true }) company!: number | null
  @Column({ type: 'int', nullable: true }) number!: number | null
  @ManyToOne(() => Purchase, { nullable: true })
  @JoinColumn([
    { name: 'company', referencedColumnName: 'company' },
    { name: 'number', referencedColumnName: 'number' },
  ])
  order!: Relation<Purchase> | null
}

@Entity()
class Parcel {
  @PrimaryGeneratedColumn() id!: number
  @Column(() => Delivery) delivery!: Delivery
}

/** A part of its key is a column of the foreign key. */
@Entity()
class Position {
  @PrimaryColumn('int') company!: number
  @PrimaryColumn('int') line!: number
  @Column({ type: 'int', nullable: true, select: false, insert: false }) number!: number | null
  @ManyToOne(() => Purchase, { nullable: true, createForeignKeyConstraints: false })
  @JoinColumn([
    { name: 'company', referencedColumnName: 'company' },
    { name: 'number', referencedColumnName: 'number' },
  ])
  order!: Relation<Purchase> | null
}

const entities = [Purchase, Line, Loose, Secret, Plain, Parcel, Position]

describe('at mount', () => {
  let dataSource: DataSource
  beforeAll(async () => {
    dataSource = await createDataSource({ entities })
    await dataSource.initialize()
  })
  afterAll(async () => {
    await dataSource.destroy()
    await dropDatabase(dataSource)
  })

  /** The errors of a mount of an entity with these options. */
  function mistakesOf(entity: new () => object, options: object): readonly string[] {
    try {
      mountResources(new Koa(), dataSource, {
        resources: [{ entity: entity as new () => Plain, auth: byHeader, ...options }],
      })
      return []
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      return error.mistakes
    }
  }

  test.each<[string, object, string, (column: string) => string]>([
    [
      'exclude',
      { exclude: ['order'] },
      '"order" is in "exclude"',
      (column) =>
        `"${column}", a column of its foreign key, is shown: put "${column}" in "exclude" too, or permit this with ` +
        `{ fields: { "${column}": { read: true } } }`,
    ],
    [
      'readOnly',
      { readOnly: ['order'] },
      '"order" is in "readOnly"',
      (column) =>
        `"${column}", a column of its foreign key, can be written: put "${column}" in "readOnly" too, or permit this with ` +
        `{ fields: { "${column}": { write: true } } }`,
    ],
    [
      'write of some principals',
      { fields: { order: { write: isBoss } } },
      '"fields.order" restricts "write"',
      (column) =>
        `"${column}", a column of its foreign key, can be written: give "${column}" a "write" too, or permit this with ` +
        `{ fields: { "${column}": { write: true } } }`,
    ],
    [
      'read of some principals',
      { fields: { order: { read: isBoss, write: true } } },
      '"fields.order" restricts "read"',
      (column) =>
        `"${column}", a column of its foreign key, is shown: give "${column}" a "read" too, or permit this with ` +
        `{ fields: { "${column}": { read: true } } }`,
    ],
  ])('an option of a relation that its columns do not have is refused: %s', (_, options, option, mistakeOf) => {
    const expected = ['company', 'orderNumber'].map((column) => `Plain: ${option}, but ${mistakeOf(column)}`)
    expect(mistakesOf(Plain, options)).toEqual(expected)
  })

  test.each<[string, new () => object, object, readonly string[]]>([
    ['one column', Plain, { exclude: ['order', 'company'] }, ['"orderNumber", a column of its foreign key, is shown']],
    [
      'one column',
      Plain,
      { readOnly: ['order', 'orderNumber'] },
      ['"company", a column of its foreign key, can be written'],
    ],
    [
      'no principal',
      Plain,
      { fields: { order: { write: false } } },
      [
        '"company", a column of its foreign key, can be written',
        '"orderNumber", a column of its foreign key, can be written',
      ],
    ],
    [
      'read and write',
      Plain,
      { fields: { order: { read: isBoss } } },
      ['is shown', 'is shown', 'can be written', 'can be written'],
    ],
    [
      'the default of read',
      Plain,
      { exclude: ['order'], fields: { company: { write: true } } },
      ['"company", a column of its foreign key, is shown', '"orderNumber", a column of its foreign key, is shown'],
    ],
    ['another list', Plain, { exclude: ['order'], readOnly: ['company', 'orderNumber'] }, ['is shown', 'is shown']],
    [
      'an embedded entity',
      Parcel,
      { readOnly: ['delivery.order'] },
      ['"delivery.company", a column', '"delivery.number", a column'],
    ],
    [
      'a part of the key',
      Position,
      { exclude: ['order'] },
      ['"company", a column of its foreign key, is shown: permit this with'],
    ],
    ['a part of the key', Position, { readOnly: ['order'] }, ['but "company", a column of its foreign key, can']],
  ])('columns without an option are reported: %s', (_, entity, options, expected) => {
    const mistakes = mistakesOf(entity, options)
    expect(mistakes).toEqual(expected.map((text) => expect.stringContaining(text)))
  })

  test.each<[string, new () => object, object]>([
    ['the same list', Plain, { exclude: ['order', 'company', 'orderNumber'] }],
    ['the same list', Plain, { readOnly: ['order', 'company', 'orderNumber'] }],
    [
      'the list of all principals',
      Plain,
      { fields: { order: { write: isBoss } }, readOnly: ['company', 'orderNumber'] },
    ],
    [
      'another function',
      Plain,
      { fields: { order: { read: isBoss }, company: { read: isClerk }, orderNumber: { read: isBoss } } },
    ],
    ['an explicit permission', Plain, { exclude: ['order', 'orderNumber'], fields: { company: { read: true } } }],
    ['the embedded entity', Parcel, { readOnly: ['delivery'] }],
    ['the embedded entity', Parcel, { fields: { delivery: { read: isBoss } } }],
    ['a part of the key', Position, { exclude: ['order'], fields: { company: { read: true } } }],
    ['columns that are not properties', Plain, { exclude: ['mainPurchase'], readOnly: ['mainPurchase'] }],
    ['a permission for everybody', Plain, { fields: { order: { read: true, write: true } } }],
  ])('columns that have an option too are accepted: %s', (_, entity, options) => {
    expect(mistakesOf(entity, options)).toEqual([])
  })
})

describe('over HTTP', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities,
      seed: async ({ manager }) => {
        await manager.insert(
          Purchase,
          [1, 2].flatMap((company) => [1, 2].map((number) => ({ company, number }))),
        )
      },
    })
  })
  beforeEach(async () => {
    for (const table of ['line', 'loose', 'secret']) {
      await world.sql(`DELETE FROM "${table}"`)
      await world.sql(`INSERT INTO "${table}" ("id", "code", "company", "orderNumber") VALUES (1000, 1, 1, 1)`)
    }
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })

  const sendAs = (me: number, line: string, body?: unknown, type = 'application/json'): Promise<Reply> =>
    send(world.url, line, { body, headers: { 'X-Me': `${me}`, 'Content-Type': type } })

  const writes: [string, unknown, string][] = [
    ['PUT /api/$/1000/', { company: 2, orderNumber: 2 }, 'application/json'],
    ['PATCH /api/$/1000/', { orderNumber: 2 }, 'application/json'],
    ['PUT /api/$/1000/', { orderNumber: null }, 'application/json'],
    ['PATCH /api/$/?id=1000', { company: 2, orderNumber: 2 }, 'application/json'],
    ['POST /api/$/', { company: 2, orderNumber: 2 }, 'application/json'],
    ['POST /api/$/', [{ company: 2, orderNumber: 2 }], 'application/json'],
    ['POST /api/$/?on_conflict=code', { code: 1, company: 2, orderNumber: 2 }, 'application/json'],
    ['POST /api/$/', 'company,orderNumber\n2,2\n', 'text/csv'],
    ['POST /api/$/', '{"company":2,"orderNumber":2}\n', 'application/x-ndjson'],
  ]

  test.each<[string, unknown, string]>(writes)(
    'a principal who may not write the relation cannot write its columns: %s %j',
    async (line, body, type) => {
      for (const table of ['line', 'loose']) {
        expect((await sendAs(1, line.replace('$', table), body, type)).status).toBe(400)
        const stored = await world.sql(`SELECT "company", "orderNumber" FROM "${table}"`)
        expect(stored).toEqual([{ company: 1, orderNumber: 1 }])
      }
      expect([200, 201]).toContain((await sendAs(2, line.replace('$', 'line'), body, type)).status)
    },
  )

  test('nor in the body of another record', async () => {
    for (const [name, number] of [
      ['lines', 3],
      ['loose', 4],
    ] as const) {
      const body = { company: 3, number, [name]: [{ company: 2, orderNumber: 2 }] }
      expect((await sendAs(1, 'POST /api/purchase/', body)).status).toBe(400)
    }
  })

  test('a column with a permission for everybody can be written', async () => {
    const reply = await sendAs(1, 'PATCH /api/loose/1000/', { company: 2 })
    expect([reply.status, reply.json()]).toEqual([200, expect.objectContaining({ company: 2, order_id: '2,1' })])
  })

  test('a principal who may not read the relation does not see its columns', async () => {
    const shown = await sendAs(1, 'GET /api/secret/1000/')
    expect(shown.json()).toEqual({ id: 1000, code: 1, mainPurchase_id: null })
    for (const name of ['company', 'orderNumber', 'order', 'order__number']) {
      expect((await sendAs(1, `GET /api/secret/?${name}=1`)).status).toBe(400)
    }
    const { order_id, company } = (await sendAs(2, 'GET /api/secret/1000/')).json() as Record<string, unknown>
    expect([order_id, company]).toEqual(['1,1', 1])
  })
})
