import {
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { IdempotencyKey, Resource } from 'typeorm-resources'
import { send } from '../client'
import { EventReader } from '../support/event-reader'
import { isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** UUIDs in upper case lead to the same records where the database treats both cases as equal (docs/reference/keys.md). */

const auth = () => ({ id: 1 })

@Entity()
class Log {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) resource!: string
  @Column({ length: 80 }) record!: string
  @Column({ length: 10 }) action!: string
  @Column({ type: 'int', nullable: true }) principal!: number | null
  @Column({ type: 'simple-json' }) changes!: object
}

@Entity()
@Resource({ auth, nested: ['lines', 'tags'], scope: () => ({ hidden: false }) })
class Invoice {
  @PrimaryColumn('uuid') id!: string
  @Column({ default: 'x', length: 20 }) title!: string
  @Column({ default: false }) hidden!: boolean
  @OneToMany(
    () => Line,
    ({ invoice }) => invoice,
  )
  lines!: Relation<Line>[]
  @ManyToMany(() => Tag) @JoinTable() tags!: Relation<Tag>[]
}

@Entity()
@Resource({ auth })
class Line {
  @PrimaryColumn('uuid') id!: string
  @Column({ type: 'int' }) quantity!: number
  @Column({ default: 'none', length: 20 }) note!: string
  @ManyToOne(
    () => Invoice,
    ({ lines }) => lines,
    { nullable: false },
  )
  invoice!: Relation<Invoice>
}

@Entity()
@Resource({ auth })
class Tag {
  @PrimaryColumn('uuid') id!: string
}

/** Has a key of several columns. */
@Entity()
@Resource({ auth, nested: ['seats'] })
class Room {
  @PrimaryColumn('uuid') house!: string
  @PrimaryColumn({ length: 20 }) name!: string
  @Column({ default: 'x', length: 20 }) title!: string
  @OneToMany(
    () => Seat,
    ({ room }) => room,
  )
  seats!: Relation<Seat>[]
}

@Entity()
@Resource({ auth })
class Seat {
  @PrimaryColumn('uuid') row!: string
  @PrimaryColumn({ type: isSqlite ? 'character' : 'char', length: 4 }) code!: string
  @Column({ default: 'none', length: 20 }) note!: string
  @ManyToOne(
    () => Room,
    ({ seats }) => seats,
  )
  room!: Relation<Room>
}

const idOf = (digit: number): string => `0000000${digit}-abcd-4abc-8abc-abcdefabcdef`
const [invoice, line, tag] = [idOf(1), idOf(2), idOf(3)]

let world: World
const ask = (request: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
  send(world.url, request.replace(' ', ' /api/'), { body, headers })
beforeEach(async () => {
  world = await openWorld({
    entities: [Log, Invoice, Line, Tag, Room, Seat, IdempotencyKey],
    columnOrder: 0,
    mount: { audit: { entity: Log }, live: true, batch: true },
  })
  await ask('POST tag/', { id: tag })
  const lines = [{ id: line, quantity: 5, note: 'kept' }]
  expect((await ask('POST invoice/', { id: invoice, title: 'A', lines })).status).toBe(201)
})
afterEach(() => world.close())

const upper = (id: string): string => id.toUpperCase()
const onServers = isSqlite ? () => undefined : test

test('SQLite treats the two cases as different keys, other databases as equal', async () => {
  expect((await ask(`GET invoice/${upper(invoice)}/`)).status).toBe(isSqlite ? 404 : 200)
})

onServers('a nested record is updated, not replaced', async () => {
  const lines = [{ id: upper(line), quantity: 6 }]
  expect((await ask(`PUT invoice/${upper(invoice)}/`, { title: 'A', lines })).status).toBe(200)
  expect((await ask('GET line/')).json()).toMatchObject({ objects: [{ id: line, quantity: 6, note: 'kept' }] })
  expect((await ask(`PATCH invoice/${invoice}/`, { tag_ids: [upper(tag)] })).status).toBe(200)
})

onServers('the audit log and live lists have the key of the record', async () => {
  const reader = await EventReader.open(`${world.url}/api/line/`)
  expect(await reader.take(1)).toEqual([['reset', [expect.objectContaining({ id: line })]]])
  expect((await ask(`DELETE line/${upper(line)}/`)).status).toBe(204)
  expect(await reader.take(1)).toEqual([['gone', { id: line }]])
  reader.close()
  const [entry] = await world.dataSource.getRepository(Log).find({ order: { id: 'DESC' }, take: 1 })
  expect(entry).toMatchObject({ record: line, action: 'delete', changes: { note: { from: 'kept' } } })
})

onServers('a repeated request is answered as long as the record is visible', async () => {
  const headers = { 'Idempotency-Key': 'first' }
  const repeat = () => ask(`PATCH invoice/${upper(invoice)}/`, { title: 'B' }, headers)
  expect([(await repeat()).status, (await repeat()).status]).toEqual([200, 200])
  await world.dataSource.getRepository(Invoice).update(invoice, { hidden: true })
  expect((await repeat()).status).toBe(404)
})

onServers('a UUID in a key of several columns may be in upper case', async () => {
  const key = (id: string): string => `${id},a%2F%5C,b`
  const sent = { house: invoice, name: 'a/,b', seats: [{ row: line, code: 'ab', note: 'kept' }] }
  expect((await ask('POST room/', sent)).status).toBe(201)
  const [room, seat] = [`${upper(invoice)},a/\\,b`, `${upper(line)},ab`]
  expect((await ask(`GET room/${key(upper(invoice))}/`)).json()).toMatchObject({ house: invoice })
  const seats = [{ id: seat, note: 'changed' }]
  expect((await ask(`PUT room/${key(upper(invoice))}/`, { id: room, title: 'B', seats })).status).toBe(200)
  const { objects } = (await ask(`GET seat/?room=${encodeURIComponent(room)}`)).json() as { objects: object[] }
  expect(objects).toMatchObject([{ row: line, note: 'changed' }])
  expect((await ask('POST seat/', { row: tag, code: 'c', room_id: room })).status).toBe(201)
  expect((await ask(`DELETE seat/${upper(line)},ab/`)).status).toBe(204)
})

onServers('spaces at the end of a part of the type char are ignored', async () => {
  await ask('POST seat/', { row: line, code: 'ab' })
  for (const code of ['ab', 'ab  ']) {
    const path = `seat/${line},${encodeURIComponent(code)}/`
    expect((await ask(`PUT ${path}`, { id: `${line},${code}`, note: 'new' })).status).toBe(200)
  }
})

test('a part of a key has one notation otherwise', async () => {
  await ask('POST room/', { house: invoice, name: 'ab' })
  for (const name of ['a%5Cb', 'AB', 'ab%5C', 'ab,'])
    expect((await ask(`GET room/${invoice},${name}/`)).status).toBe(404)
})
