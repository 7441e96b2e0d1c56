import { registerDecorator } from 'class-validator'
import {
  Column,
  type DataSource,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { anonymous, IdempotencyKey, Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { openWorld, type World } from '../world/world'

/** Validators and access rules that query through the data source, while the service has a transaction on its only connection. */

let dataSource: DataSource
const countRooms = (): Promise<number> => dataSource.getRepository(Room).count()

/** The numbers of rooms that the application has seen. */
let seen: number[] = []
const look = async (): Promise<void> => void seen.push(await countRooms())
const doNothing = async (): Promise<void> => {}
/** What the application does in each place. */
const work = { validator: doNothing, rule: doNothing, listener: doNothing }

const auth: Rule = async () => {
  await work.rule()
  return anonymous
}

/** A validator that may query the database, such as one of uniqueness. */
function Checked(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'checked',
      target: target.constructor,
      propertyName: String(propertyName),
      validator: {
        validate: async () => {
          await work.validator()
          return true
        },
      },
    })
}

@Entity()
@Resource({ auth, nested: ['rooms'], bulk: true })
class House {
  @PrimaryGeneratedColumn() id!: number
  @Checked() @Column({ length: 20 }) name!: string
  @OneToMany(
    () => Room,
    (room) => room.house,
  )
  rooms!: Relation<Room>[]
}

@Entity()
@Resource({ auth, bulk: true })
class Room {
  @PrimaryGeneratedColumn() id!: number
  @Checked() @Column({ length: 20, unique: true }) name!: string
  @Column({ default: 0 }) size!: number
  @ManyToOne(
    () => House,
    (house) => house.rooms,
  )
  house!: Relation<House> | null
}

@EventSubscriber()
class RoomListener implements EntitySubscriberInterface<Room> {
  listenTo = () => Room
  afterInsert = () => work.listener()
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [House, Room, IdempotencyKey],
    source: { subscribers: [RoomListener] },
    mount: { batch: true },
  })
  dataSource = world.dataSource
})
afterAll(() => world.close())

beforeEach(async () => {
  await world.sql('DELETE FROM "room"')
  await world.sql(`INSERT INTO "room" ("id", "name", "size") VALUES (1, 'first', 1)`)
  seen = []
})
afterEach(() => {
  Object.assign(work, { validator: doNothing, rule: doNothing, listener: doNothing })
})

let keys = 0
const ndjson = { 'Content-Type': 'application/x-ndjson' }
const room = (name: string) => ({ method: 'POST', path: '/api/room/', body: { name } })
const house = { name: 'h', rooms: [{ name: 'a' }] }

/** Requests, and the numbers of rooms that each call of a validator, and of an access rule, sees. */
const requests: readonly {
  readonly what: string
  readonly line: string
  readonly body: unknown
  readonly isKeyed?: true
  readonly headers?: Readonly<Record<string, string>>
  readonly validator: readonly number[]
  readonly rule: readonly number[]
}[] = [
  { what: 'a POST', line: 'POST /api/room/', body: { name: 'a' }, validator: [1], rule: [1] },
  { what: 'a PATCH', line: 'PATCH /api/room/1/', body: { size: 2 }, validator: [1], rule: [1] },
  { what: 'an array', line: 'POST /api/room/', body: [{ name: 'a' }, { name: 'b' }], validator: [1, 1], rule: [1] },
  { what: 'an import', line: 'POST /api/room/', body: '{"name":"a"}', headers: ndjson, validator: [1], rule: [1] },
  // A filter needs the permission to read too.
  { what: 'a PATCH by filter', line: 'PATCH /api/room/?id=1', body: { size: 3 }, validator: [1], rule: [1, 1] },
  { what: 'an upsert', line: 'POST /api/room/?on_conflict=name', body: { name: 'a' }, validator: [1], rule: [1, 1] },
  { what: 'nested records', line: 'POST /api/house/', body: house, validator: [1, 1], rule: [1, 1] },
  { what: 'a batch', line: 'POST /api/-/batch', body: [room('a'), room('b')], validator: [1, 2], rule: [1, 1] },
  { what: 'a POST with a key', line: 'POST /api/room/', body: { name: 'a' }, isKeyed: true, validator: [1], rule: [1] },
  {
    what: 'nested records with a key',
    line: 'POST /api/house/',
    body: house,
    isKeyed: true,
    validator: [1, 1],
    rule: [1, 1],
  },
  {
    what: 'a batch with a key',
    line: 'POST /api/-/batch',
    body: [room('a'), room('b')],
    isKeyed: true,
    validator: [1, 2],
    rule: [1, 1],
  },
]

describe.each(['validator', 'rule'] as const)(
  'a %s that queries through the data source sees the transaction',
  (place) => {
    test.each(requests)('$what', async ({ line, body, headers = {}, isKeyed, ...expected }) => {
      work[place] = look
      const all = { ...headers, ...(isKeyed && { 'Idempotency-Key': `${keys++}` }) }
      const reply = await send(world.url, line, { body, headers: all })
      expect([reply.status < 300 || reply.text, seen]).toEqual([true, expected[place]])
      expect(world.faults).toEqual([])
    })
  },
)

test('statements outside of the request wait for the end of its transaction, and do not become part of it', async () => {
  let calls = 0
  let resume = (): void => {}
  const isResumed = new Promise<void>((resolve) => {
    resume = resolve
  })
  const isWaiting = new Promise<void>((resolve) => {
    work.validator = async () => {
      if (++calls === 2) resolve()
      if (calls === 2) await isResumed
      await look()
    }
  })
  const sending = send(world.url, 'POST /api/-/batch', { body: [room('a'), room('a')] })
  await isWaiting
  const counting = countRooms()
  resume()
  expect((await sending).status).toBe(409)
  expect([seen, await counting]).toEqual([[1, 2], 1])
})

test.each([
  [
    'a validator that begins a transaction of its own',
    'validator',
    () => dataSource.getRepository(House).save({ name: 'x' }),
  ],
  ['a listener that does not use the manager of its event', 'listener', look],
] as const)('%s is refused after a second, with the reason in the log', async (_, place, run) => {
  work[place] = async () => void (await run())
  const start = performance.now()
  const reply = await send(world.url, 'POST /api/-/batch', { body: [room('a'), room('b')] })
  expect(reply.status).toBe(503)
  expect(performance.now() - start).toBeLessThan(3000)
  expect(String(world.faults.at(-1))).toContain('this was called inside of a transaction')
  expect(await world.sql('SELECT "name" FROM "room"')).toEqual([{ name: 'first' }])
})
