import {
  AfterLoad,
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  Index,
  PrimaryGeneratedColumn,
  QueryFailedError,
} from 'typeorm'
import { Resource, UserAccount, userRule } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { unhashed } from '../support/unhashed'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll })
class Order {
  @PrimaryGeneratedColumn() id!: number
  @Index({ unique: true }) @Column() name!: string
}

/** Has a listener that refuses to load some records. */
@Entity()
@Resource({ auth: permitAll })
class Sealed {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @AfterLoad() refuse(): void {
    if (this.name === 'secret') throw Object.assign(new Error('sealed'), { status: 403, expose: true })
  }
}

/** Has a listener that sets values without a JSON form. */
@Entity()
@Resource({ auth: permitAll })
class Unshown {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @Column({ type: 'date', nullable: true }) day!: Date | null
  @Column({ type: 'simple-json', nullable: true }) sum!: unknown
  @AfterLoad() load(): void {
    if (this.name === 'day') this.day = new Date(Number.NaN)
    if (this.name === 'sum') this.sum = { total: 10n }
  }
}

@Entity()
@Resource({ auth: userRule() })
@UserAccount(unhashed)
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', ...(isMariadb && { charset: 'latin1' }) }) username!: string
  @Column() password!: string
}

/** The error that the subscriber throws once, and when. */
const plan: { at?: 'insert' | 'commit'; error?: Error } = {}
const throwAt = (at: 'insert' | 'commit'): void => {
  const { error } = plan
  if (plan.at !== at || error === undefined) return
  delete plan.error
  throw error
}

@EventSubscriber()
class Listener implements EntitySubscriberInterface<Order> {
  listenTo(): typeof Order {
    return Order
  }

  afterInsert(): void {
    throwAt('insert')
  }

  afterTransactionCommit(): void {
    throwAt('commit')
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Order, Sealed, Unshown, Member], source: { subscribers: [Listener] } })
})
beforeEach(() => world.sql('DELETE FROM "order"'))
afterAll(() => world.close())

const post = (name: string, resource = 'order') => send(world.url, `POST /api/${resource}/`, { body: { name } })
const stored = async (resource = 'order'): Promise<number> => (await world.sql(`SELECT 1 FROM "${resource}"`)).length

/** An error as the driver throws it after a deadlock or a constraint violation. */
const ended = (code: object): Error => new QueryFailedError('SELECT 1', [], Object.assign(new Error('ended'), code))
const deadlocks = [{ code: '40P01' }, { errno: 1213, code: 'ER_LOCK_DEADLOCK' }, { code: 'SQLITE_BUSY_SNAPSHOT' }]

test.each(deadlocks)(
  'an error that a subscriber throws after the commit, %j, is a fault, and the write is stored once',
  async (code) => {
    Object.assign(plan, { at: 'commit', error: ended(code) })
    expect((await post('one')).status).toBe(500)
    expect(await stored()).toBe(1)
  },
)

test('an error that a subscriber throws after the commit is never a refusal', async () => {
  Object.assign(plan, { at: 'commit', error: Object.assign(new Error('no'), { status: 400, expose: true }) })
  expect((await post('one')).status).toBe(500)
  Object.assign(plan, { at: 'commit', error: ended({ code: '23505', errno: 1062 }) })
  expect((await post('two')).status).toBe(500)
  expect(await stored()).toBe(2)
})

const messages = ['the shop is closed', 'the account is not open', 'queue limit reached', 'connection terminated']
test.each([
  ...messages.map((message) => new Error(message)),
  Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
  Object.assign(new Error('from another service'), { code: 14 }),
])('an error that a listener throws is a fault, and not an unavailable database: %s', async (error) => {
  Object.assign(plan, { at: 'insert', error })
  const before = world.faults.length
  expect((await post('one')).status).toBe(500)
  expect(world.faults.slice(before)).toEqual([error])
  expect(await stored()).toBe(0)
})

test('a write is not stored if a listener refuses to load its record', async () => {
  expect((await post('secret', 'sealed')).status).toBe(403)
  expect(await stored('sealed')).toBe(0)
  const { headers } = await post('open', 'sealed')
  expect((await send(world.url, `PUT ${headers.location}`, { body: { name: 'secret' } })).status).toBe(403)
  expect(await world.sql('SELECT "name" FROM "sealed"')).toEqual([{ name: 'open' }])
})

test.each(['day', 'sum'])(
  'a write is not stored if a listener sets a value without a JSON form after loading: %s',
  async (name) => {
    await world.sql('DELETE FROM "unshown"')
    expect((await post(name, 'unshown')).status).toBe(500)
    expect(await stored('unshown')).toBe(0)
    const { headers } = await post('open', 'unshown')
    expect((await send(world.url, `PUT ${headers.location}`, { body: { name } })).status).toBe(500)
    expect(await world.sql('SELECT "name" FROM "unshown"')).toEqual([{ name: 'open' }])
  },
)

test("a username with characters that the column's character set does not contain matches no user", async () => {
  const { status } = await send(world.url, 'GET /api/member/', { as: '日本' })
  expect([status, world.faults.length > 0 && String(world.faults.at(-1))]).toEqual([
    401,
    expect.not.stringContaining('collation'),
  ])
})
