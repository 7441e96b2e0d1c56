import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { isMariadb, isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** References to records in and out of scope: hidden ones, composite ones, those that the scope presets, and those of many records. */

const tenantOne: Rule = () => ({ id: 1 })
const nobody: Rule = () => null

@Entity()
@Resource({ auth: tenantOne, scope: (me) => ({ tenant: me.id }) })
class Project {
  @PrimaryColumn() tenant!: number
  @PrimaryColumn() number!: number
}

/** Its hidden relation is written through columns that are shown. */
@Entity()
@Resource({ auth: tenantOne, exclude: ['project'], fields: { tenant: { read: true }, number: { read: true } } })
class Hidden {
  @PrimaryColumn() id!: number
  @Column({ type: 'integer', nullable: true }) tenant!: number | null
  @Column({ type: 'integer', nullable: true }) number!: number | null
  @ManyToOne(() => Project, { nullable: true })
  @JoinColumn([
    { name: 'tenant', referencedColumnName: 'tenant' },
    { name: 'number', referencedColumnName: 'number' },
  ])
  project!: Relation<Project> | null
}

@Entity()
@Resource({ auth: tenantOne })
class Shown {
  @PrimaryColumn() id!: number
  @Column({ type: 'integer', nullable: true }) tenant!: number | null
  @Column({ type: 'integer', nullable: true }) number!: number | null
  @ManyToOne(() => Project, { nullable: true })
  @JoinColumn([
    { name: 'tenant', referencedColumnName: 'tenant' },
    { name: 'number', referencedColumnName: 'number' },
  ])
  project!: Relation<Project> | null
}

/** Nobody may read firms. */
@Entity()
@Resource({ auth: nobody, scope: () => true })
class Firm {
  @PrimaryColumn() id!: number
}

@Entity()
@Resource({ auth: tenantOne, exclude: ['firm'], scope: (me) => ({ firm: me.id }) })
class Doc {
  @PrimaryColumn() id!: number
  @ManyToOne(() => Firm, { nullable: false }) firm!: Relation<Firm>
}

const instant = { type: isPostgres ? 'timestamptz' : 'datetime', ...(isMariadb && { precision: 3 }) } as const

/** Bookings refer to the time, of which records show no fraction of a second. */
@Entity()
@Resource({ auth: tenantOne, scope: (me) => ({ tenant: me.id }) })
class Slot {
  @PrimaryGeneratedColumn() id!: number
  @Column({ ...instant, unique: true }) time!: Date
  @Column('int') tenant!: number
}

@Entity()
@Resource({ auth: tenantOne, bulk: true })
class Booking {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Slot, { nullable: true })
  @JoinColumn({ referencedColumnName: 'time' })
  slot!: Relation<Slot> | null
}

/** The first one is out of scope. */
const times = ['2024-02-29T10:20:30.250Z', '2024-02-29T10:20:30.500Z', '2024-02-29T10:20:40.000Z'] as const

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Project, Hidden, Shown, Firm, Doc, Slot, Booking] })
  const insert = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
    world.dataSource.getRepository<object>(entity).insert([...rows])
  await insert(Project, [
    { tenant: 1, number: 1 },
    { tenant: 2, number: 1 },
  ])
  await insert(Hidden, [{ id: 1, tenant: 1, number: 1 }])
  await insert(Shown, [{ id: 1, tenant: 1, number: 1 }])
  await insert(Firm, [{ id: 1 }, { id: 2 }])
  await insert(
    Slot,
    times.map((time, index) => ({ time: new Date(time), tenant: index === 0 ? 2 : 1 })),
  )
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

describe.each(['hidden', 'shown'])('Row scopes: a composite reference that is %s', (resource) => {
  test('can be written if the record is visible', async () => {
    const body = { id: 2, tenant: 1, number: 1 }
    expect((await send(world.url, `POST /api/${resource}/`, { body })).status).toBe(201)
  })

  test.each([
    ['POST', '', { id: 9, tenant: 2, number: 1 }, { id: 9, tenant: 2, number: 9 }],
    ['PUT', '1/', { tenant: 2 }, { tenant: 9 }],
    ['PATCH', '1/', { tenant: 2, number: 1 }, { tenant: 9, number: 1 }],
  ])(
    'gets the same response to a %s for a record out of scope as for a missing one',
    async (method, path, outside, missing) => {
      const line = `${method} /api/${resource}/${path}`
      const expected = await send(world.url, line, { body: missing })
      const reply = await send(world.url, line, { body: outside })
      expect([reply.status, reply.text]).toEqual([400, expected.text])
      expect(await world.sql(`SELECT * FROM "${resource}" WHERE "tenant" = 2`)).toEqual([])
    },
  )
})

test('Presets: a preset reference need not be visible to the principal', async () => {
  expect((await send(world.url, 'POST /api/doc/', { body: { id: 1 } })).status).toBe(201)
  const replies = [2, 9].map((firm_id) => send(world.url, 'POST /api/doc/', { body: { id: 2, firm_id } }))
  const [existing, missing] = await Promise.all(replies)
  expect([existing?.status, existing?.text]).toEqual([400, missing?.text])
})

// On SQLite, a foreign key to a date-time does not find the stored one.
if (!isSqlite) {
  test('Bulk writes: a key out of scope that records show like a visible one is refused', async () => {
    const bodies = times.map((slot_id) => ({ slot_id }))
    const refused = await send(world.url, 'POST /api/booking/', { body: bodies })
    const errors = [{ index: 0, field: 'slot_id', message: 'points to no slot' }]
    expect([refused.status, refused.json()]).toMatchObject([400, { errors }])
    expect(await world.sql('SELECT * FROM "booking"')).toEqual([])
    expect((await send(world.url, 'POST /api/booking/', { body: bodies.slice(1) })).status).toBe(201)
  })
}

test('OpenAPI document: a hidden foreign key that the scope can set is not required', async () => {
  const reply = await send(world.url, 'GET /api/openapi.json')
  const { components } = reply.json() as { components: { schemas: Record<string, { required?: string[] }> } }
  expect(components.schemas['doc.create']?.required).toEqual(['id'])
})
