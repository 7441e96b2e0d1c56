import { Column, Entity, ManyToOne, OneToMany, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { leg } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** The keys of new records, which MariaDB returns. MySQL returns only the first generated key of an INSERT. */

@Entity()
@Resource({ auth: permitAll, bulk: true, nested: ['lines'] })
class Order {
  @PrimaryGeneratedColumn('increment', { type: 'bigint' }) id!: string
  @Column() title!: string
  @OneToMany(
    () => Line,
    (line) => line.order,
  )
  lines!: Relation<Line>[]
}

@Entity()
@Resource({ auth: permitAll })
class Line {
  @PrimaryGeneratedColumn('increment', { type: 'bigint' }) id!: string
  @Column() text!: string
  @ManyToOne(
    () => Order,
    (order) => order.lines,
  )
  order!: Relation<Order>
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Seat {
  @PrimaryColumn() row!: number
  @PrimaryColumn({ default: 7 }) place!: number
  @Column() guest!: string
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Label {
  @PrimaryColumn({ type: 'varchar', length: 36, default: () => '(uuid())' }) id!: string
  @Column() text!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Order, Line, Seat, Label] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { post, ids } = apiOf(() => world.url)
const returnsKeys = leg.driver === 'mariadb'

test('generated keys beyond the exact numbers: each new record has its own', async () => {
  await world.sql('INSERT INTO "order" (id, title) VALUES (9007199254740992, \'of another request\')')
  const many = await post('order', [{ title: 'a' }, { title: 'b' }, { title: 'c' }])
  expect(many.json()).toMatchObject({
    objects: [
      { id: '9007199254740993', title: 'a' },
      { id: '9007199254740994', title: 'b' },
      { id: '9007199254740995', title: 'c' },
    ],
  })
  await world.sql('ALTER TABLE line AUTO_INCREMENT = 9007199254740993')
  expect((await post('order', { title: 'd', lines: [{ text: 'e' }, { text: 'f' }] })).status).toBe(201)
  expect(await ids('line/?order=9007199254740996')).toEqual(['9007199254740993', '9007199254740994'])
})

test.each([
  ['seat', { row: 1, guest: 'Ann' }, 'place', { id: '1,7', guest: 'Ann' }],
  ['label', { text: 'Red' }, 'id', { id: expect.stringMatching(/^[0-9a-f-]{36}$/), text: 'Red' }],
] as const)('a key with a default of the database: %s', async (name, values, key, record) => {
  await world.sql('DELETE FROM seat')
  await world.sql('INSERT INTO seat ("row", place, guest) VALUES (1, 0, \'of another request\')')
  const reply = await post(name, values)
  if (returnsKeys) expect([reply.status, reply.json()]).toMatchObject([201, record])
  for (const body of returnsKeys ? [] : [values, [values]]) {
    const refusal = await post(name, body)
    expect([refusal.status, refusal.json()]).toMatchObject([400, { errors: [{ field: key, message: 'is required' }] }])
  }
  const document = (await send(world.url, 'GET /api/openapi.json')).json() as Document
  const { required = [] } = document.components.schemas[`${name}.create`] ?? {}
  expect(required.includes(key)).toBe(!returnsKeys)
})

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, { readonly required?: readonly string[] }>> }
}
