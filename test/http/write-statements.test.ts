import {
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { type Principal, Resource } from 'typeorm-resources'
import { type LiveWorld, openLiveWorld } from '../support/live-world'
import { isMariadb, isPostgres, leg } from '../world/leg'

/**
 * The statements of a write: a transaction only where one is needed. Live lists need none, and neither do row scopes and
 * permissions that permit everything to the principal (specification: Live lists, Row scopes, Permissions).
 */

interface User extends Principal {
  readonly team?: string
}
const byHeader = ({ context }: { readonly context: { get(name: string): string } }): User => {
  const [id, team] = context.get('X-User').split(':')
  return { id: id ?? '', team, admin: id === 'root' } as User
}
const ofTeam = ({ admin, team }: User) => (admin === true ? true : { team__in: team?.split(',') ?? [] })

@Entity()
@Resource({ auth: byHeader, scope: ofTeam, may: { create: ofTeam, update: ofTeam, delete: ofTeam } })
class Room {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) team!: string
  @Column({ length: 20, default: '' }) name!: string
}

@Entity()
@Resource({ auth: byHeader })
class Booking {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) title!: string
  @ManyToOne(() => Room, { nullable: false }) room!: Relation<Room>
}

/** Has a subscriber, which throws an error after the commit of a record with the title `late`. */
@Entity()
@Resource({ auth: byHeader })
class Visit {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
}

let throwsAfterCommit = false

@EventSubscriber()
class VisitSubscriber implements EntitySubscriberInterface<Visit> {
  listenTo() {
    return Visit
  }
  beforeInsert() {}
  afterTransactionCommit() {
    if (throwsAfterCommit) throw new Error('after the commit')
  }
}

/** MariaDB returns the row of an INSERT, but not of an UPDATE, which is read before and after it. */
const update = isMariadb ? ['SELECT', 'START', 'UPDATE', 'SELECT', 'COMMIT'] : ['UPDATE']
/** The driver mysql does not return the row of an INSERT either. */
const insert = leg.driver === 'mysql' ? ['START', 'INSERT', 'SELECT', 'COMMIT'] : ['INSERT']
/** The row is read and locked before its update, so the transaction begins earlier. */
const updateRow = ['START', 'SELECT', 'UPDATE', ...(isMariadb ? ['SELECT'] : [])]
const insertRow = ['START', 'INSERT', ...(leg.driver === 'mysql' ? ['SELECT'] : [])]
/** On PostgreSQL, the lookup of a reference could fail the transaction. */
const reference = isPostgres ? ['SAVEPOINT', 'SELECT', 'RELEASE'] : ['SELECT']
const room = { team: 'red' }

describe.each([
  ['with live lists', true],
  ['without live lists', false],
] as const)('%s', (_, live) => {
  let world: LiveWorld
  beforeAll(async () => {
    world = await openLiveWorld(
      { live, strictRelations: true },
      {
        entities: [Room, Booking, Visit],
        source: { subscribers: [VisitSubscriber] },
        columnOrder: 0,
        seed: async (dataSource) => {
          await dataSource.getRepository(Room).insert([{ ...room }, { team: 'blue' }, { ...room }, { ...room }])
        },
      },
    )
  })
  afterAll(() => world.close())

  const statementsOf = async (line: string, body: unknown, user: string): Promise<readonly string[]> => {
    world.statements()
    const { status, text } = await world.request(line, body, user)
    if (status >= 400) throw new Error(`${line}: ${status} ${text}`)
    const words = world.statements().map((sql) => (sql.trim().split(/[ ;]/)[0] ?? '').replace('BEGIN', 'START'))
    // On MySQL and MariaDB, TypeORM sets the isolation level before the transaction.
    return words.filter((word) => word !== 'SET')
  }

  test.each([
    ['a create', 'POST room/', room, insert],
    ['an update', 'PUT room/1/', { name: 'one' }, update],
    ['a delete', 'DELETE room/3/', undefined, ['SELECT', 'DELETE']],
    ['a create with a foreign key', 'POST booking/', { title: 'a', room_id: 2 }, insert],
  ])(
    'a principal whom all policies permit everything: %s needs no transaction',
    async (_title, line, body, expected) => {
      expect(await statementsOf(line, body, 'root')).toEqual(expected)
    },
  )

  test.each([
    ['a create', 'POST room/', room, [...insertRow, 'SELECT']],
    ['an update', 'PUT room/1/', { name: 'two' }, ['SELECT', ...updateRow, 'SELECT']],
    ['an update of the team', 'PATCH room/4/', { team: 'Red' }, ['SELECT', ...updateRow, 'SELECT']],
    [
      'a create with a foreign key',
      'POST booking/',
      { title: 'b', room_id: 1 },
      ['SELECT', ...insertRow, ...reference],
    ],
    ['a delete', 'DELETE room/4/', undefined, ['SELECT', 'START', 'SELECT', 'DELETE']],
  ])('a principal whom policies restrict: %s is checked in a transaction', async (_title, line, body, expected) => {
    expect(await statementsOf(line, body, 'ann:red,Red')).toEqual([...expected, 'COMMIT'])
  })

  test.each([
    ['a record of another team', 'POST room/', { team: 'blue' }, 'ann:red', 403],
    ['a record moved to another team', 'PUT room/1/', { team: 'blue' }, 'ann:red', 403],
    ['a record that the principal may not see', 'PUT room/2/', { name: 'x' }, 'ann:red', 404],
    [
      'a foreign key to a record that the principal may not see',
      'POST booking/',
      { title: 'c', room_id: 2 },
      'ann:red',
      400,
    ],
    ['a foreign key to no record', 'POST booking/', { title: 'c', room_id: 999 }, 'root', 400],
    ['a new foreign key to no record', 'PATCH booking/1/', { room_id: 999 }, 'root', 400],
    ['a value that is taken', 'POST booking/', { title: 'a', room_id: 1 }, 'root', 409],
  ])('%s is refused', async (_title, line, body, user, status) => {
    const before = await world.sql('SELECT * FROM "room", "booking"')
    const reply = await world.request(line, body, user)
    expect([reply.status, reply.text]).toEqual([status, expect.any(String)])
    if (status === 400)
      expect(reply.json()).toMatchObject({ errors: [{ field: 'room_id', message: 'points to no room' }] })
    expect(await world.sql('SELECT * FROM "room", "booking"')).toEqual(before)
  })
})

/** Statements that create a trigger, which moves a room with the name `moved` to another team. */
const moveRooms = isPostgres
  ? [
      "CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE room SET team = 'blue' WHERE id = NEW.id; RETURN NULL; END $$",
      "CREATE TRIGGER moved AFTER UPDATE OF name ON room FOR EACH ROW WHEN (NEW.name = 'moved') EXECUTE FUNCTION move()",
    ]
  : isMariadb
    ? [
        "CREATE TRIGGER moved BEFORE UPDATE ON room FOR EACH ROW IF NEW.name = 'moved' THEN SET NEW.team = 'blue'; END IF",
      ]
    : [
        "CREATE TRIGGER moved AFTER UPDATE OF name ON room WHEN NEW.name = 'moved' BEGIN UPDATE room SET team = 'blue' WHERE id = NEW.id; END",
      ]

test('a record that a trigger moves out of the row scope is not written', async () => {
  const world = await openLiveWorld(
    { live: false },
    {
      entities: [Room],
      columnOrder: 0,
      seed: async (dataSource) => void (await dataSource.getRepository(Room).insert({ ...room })),
    },
  )
  for (const statement of moveRooms) await world.dataSource.query(statement)
  expect((await world.request('PUT room/1/', { name: 'moved' }, 'ann:red')).status).toBe(403)
  expect((await world.request('GET room/1/', undefined, 'ann:red')).json()).toEqual({ id: 1, ...room, name: '' })
  expect((await world.request('PUT room/1/', { name: 'moved' }, 'root')).status).toBe(200)
  expect((await world.request('GET room/1/', undefined, 'ann:red')).status).toBe(404)
  await world.close()
})

describe('live lists of writes without a transaction', () => {
  let world: LiveWorld
  beforeAll(async () => {
    world = await openLiveWorld(
      {},
      {
        entities: [Room, Booking, Visit],
        source: { subscribers: [VisitSubscriber] },
        columnOrder: 0,
        seed: async () => {},
      },
    )
  })
  afterAll(() => world.close())

  test('subscribers receive each change', async () => {
    const reader = await world.watch('room/', 'ann:red')
    expect(await reader.take(1)).toEqual([['reset', []]])
    const created = (await world.request('POST room/', room, 'root')).json() as { id: number }
    expect(await reader.take(1)).toEqual([['created', { ...created, ...room, name: '' }]])
    await world.request(`PUT room/${created.id}/`, { name: 'one' }, 'root')
    expect(await reader.take(1)).toEqual([['updated', { ...created, ...room, name: 'one' }]])
    // Another update with the same value causes no event.
    await world.request(`PUT room/${created.id}/`, { name: 'one' }, 'root')
    await world.request(`DELETE room/${created.id}/`, undefined, 'root')
    expect(await reader.take(1)).toEqual([['gone', { id: created.id }]])
  })

  test('subscribers receive a record that was committed although the response is an error', async () => {
    const reader = await world.watch('visit/', 'ann:red')
    expect(await reader.take(1)).toEqual([['reset', []]])
    throwsAfterCommit = true
    try {
      expect((await world.request('POST visit/', { title: 'late' }, 'ann:red')).status).toBe(500)
    } finally {
      throwsAfterCommit = false
    }
    expect(await reader.take(1)).toEqual([[expect.stringMatching(/created|reset/), expect.anything()]])
    expect(await world.sql('SELECT "title" FROM "visit"')).toEqual([{ title: 'late' }])
  })
})
