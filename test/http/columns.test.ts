import { randomUUID } from 'node:crypto'
import {
  Column,
  CreateDateColumn,
  DefaultNamingStrategy,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource, UserAccount, userRule } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

class Money {
  constructor(
    readonly amount: number,
    readonly currency: string,
  ) {}
}

const lower = { to: (value: string | null) => value?.toLowerCase(), from: (value: string | null) => value }
const yesNo = {
  to: (value: boolean | null) => (value === null ? null : value ? 'Y' : 'N'),
  from: (value: string | null) => (value === null ? null : value === 'Y'),
}
const money = {
  to: (value: Money | null = null) => {
    if (value !== null && typeof value.amount !== 'number') throw new Error('canary')
    return value === null ? null : `${value.amount} ${value.currency}`
  },
  from: (value: string | null) => {
    const [amount, currency = ''] = value?.split(' ') ?? []
    return value === null ? null : new Money(Number(amount), currency)
  },
}
const numeric = {
  to: (value: number | null) => value,
  from: (value: string | null) => (value === null ? null : Number(value)),
}
const millis = {
  to: (value: Date | null = null) => value?.valueOf().toString(),
  from: (value: string | null) => value && new Date(Number(value)),
}
const cents = {
  to: (value: number | null) => value && Math.round(value * 100),
  from: (value: number | string | null) => value && Number(value) / 100,
}
/** Accepts every value, and can read only some of the stored ones. */
const once = { to: (value: unknown) => value, from: (value: string | null) => value && JSON.parse(value) }
const prefixed = { to: (value: string) => `k-${value}`, from: (value: string) => value.slice(2) }
const reversed = {
  to: (value: string | null) => value && [...value].reverse().join(''),
  from: (value: string | null) => value && [...value].reverse().join(''),
}
const asJson = {
  to: (value: unknown) => value && JSON.stringify(value),
  from: (value: string | null) => value && JSON.parse(value),
}
const asBase64 = {
  to: (value: string | null) => value && Buffer.from(value).toString('base64'),
  from: (value: string | null) => value && Buffer.from(value, 'base64').toString(),
}

/** Has transformers that change the stored value. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Changed {
  @PrimaryColumn({ length: 20, transformer: prefixed }) id!: string
  @Column({ type: 'varchar', length: 30, nullable: true, transformer: lower }) email!: string | null
  @Column({ type: 'varchar', length: 1, default: 'N', transformer: yesNo }) active!: boolean
  @Column({ type: 'varchar', length: 30, nullable: true, transformer: money }) price!: Money | null
  @Column({ type: 'decimal', precision: 8, scale: 2, nullable: true, transformer: numeric }) rate!: number
  @Column({ type: 'varchar', length: 30, nullable: true, transformer: [lower, reversed] }) twice!: string
  @Column({ type: 'varchar', length: 30, nullable: true, transformer: [asJson, asBase64] }) coded!: object | null
  @ManyToOne(() => Changed, { nullable: true }) next!: Changed | null
}

/** Has transformers as in applications. */
@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Strange {
  @PrimaryColumn({ type: 'int', transformer: { to: Number, from: String } }) id!: string
  @Column({ type: 'bigint', nullable: true, transformer: numeric }) count!: number | null
  @Column({ type: 'int', nullable: true, transformer: cents }) price!: number | null
  @Column({ type: 'bigint', nullable: true, transformer: cents }) total!: number | null
  @Column({ type: 'varchar', nullable: true, transformer: millis }) expires!: string
  @Column({ type: 'varchar', nullable: true, transformer: once }) once!: unknown
}

/** Has transformers that return a value for null. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Stamped {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', nullable: true, transformer: { to: (value) => value ?? randomUUID(), from: String } })
  token!: string
}

/** Has a transformer that returns every value unchanged. */
@Entity()
@Resource({ auth: permitAllAsUser1, ownerField: 'owner' })
class Owned {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', nullable: true, transformer: { to: (value) => value, from: (value) => value } })
  one!: unknown
  @ManyToOne(() => Member) owner!: Relation<Member>
  @Column({ type: 'int', nullable: true, transformer: { to: (value) => value?.n, from: (n) => n && { n } } })
  n!: unknown
  @Column({ type: 'simple-array', nullable: true, transformer: { to: (value) => value, from: (value) => value } })
  tags!: unknown
}

/** Has names with a special meaning in SQL, in TypeORM or in JavaScript. */
@Entity({ name: 'select odd' })
@Resource({ auth: permitAllAsUser1, name: 'odd' })
class Odd {
  @PrimaryGeneratedColumn() id!: number
  @Column({ name: 'order', default: 1 }) group!: number
  @Column({ name: 'a:id $1', default: 2 }) tr_p0!: number
  @Column({ default: 3 }) constructors!: number
  @Column({ name: "it's", default: 4 }) toJSON!: number
  @Column({ default: 5 }) c0!: number
  @Column({ name: 'T0', default: 6 }) t0!: number
}

/** A user entity whose flags are numbers. */
@Entity()
@UserAccount()
@Resource({ auth: userRule() })
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
  @Column({ type: 'smallint', default: 1 }) active!: number
}

class SnakeNames extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string | undefined): string {
    return customName ?? propertyName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  }

  override joinColumnName(relationName: string, referencedColumnName: string): string {
    return `fk_${relationName}_${referencedColumnName}`
  }
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Snake {
  @PrimaryGeneratedColumn() id!: number
  @Column() longName!: string
  @CreateDateColumn() createdAt!: Date
  @ManyToOne(() => Snake, { nullable: true }) tail!: Snake | null
}

let world: World
let named: World
beforeAll(async () => {
  world = await openWorld({ entities: [Changed, Strange, Stamped, Owned, Odd, Member] })
  named = await openWorld({ entities: [Snake], source: { namingStrategy: new SnakeNames() } })
})
afterAll(async () => {
  await world.close()
  await named.close()
  expect([...world.faults, ...named.faults]).toEqual([])
})

const { get, ids, post, put } = apiOf(() => world.url)

test('transformers convert in both directions, and requests and responses contain the values of the entity', async () => {
  const price = { amount: 5, currency: 'EUR' }
  const body = { email: 'Ann@X.org', active: true, price, rate: 1.25, twice: 'ABC', coded: { a: [1] } }
  const made = await post('changed', { id: 'one', ...body })
  const shown = { id: 'one', ...body, email: 'ann@x.org', twice: 'abc', next_id: null }
  expect([made.status, made.json()]).toEqual([201, shown])
  expect(made.headers.location).toBe('/api/changed/one/')
  expect((await get('changed/one/')).json()).toEqual(shown)
  expect((await put('changed/one', shown)).json()).toEqual(shown)
  expect((await put('changed/one', { price: { amount: 6, currency: 'USD' } })).json()).toMatchObject({
    price: { amount: 6, currency: 'USD' },
  })
  expect(await world.sql('SELECT "id", "active", "price", "twice", "coded" FROM "changed"')).toEqual([
    { id: 'k-one', active: 'Y', price: '6 USD', twice: 'cba', coded: 'eyJhIjpbMV19' },
  ])
})

test.each([
  ['id=one', true],
  ['id=k-one', false],
  ['email=ANN@x.org', true],
  ['email__like=ann%25', true],
  ['active=true', true],
  ['active=false', false],
  ['active__is=true', true],
  ['rate=1.25', true],
  ['rate__lt=1.3', true],
  ['twice=aBc', true],
  ['twice__ne=abc', false],
  ['price__is=not_null', true],
])('filters contain the values of the entity: %s', async (query, found) => {
  expect(await ids(`changed?${query}`)).toEqual(found ? ['one'] : [])
})

test.each([
  [{ price: { amount: 'x' } }, 'price'],
  [{ price: 5 }, 'price'],
  [{ active: 'Y' }, 'active'],
  [{ rate: '1.25' }, 'rate'],
  [{ email: 5 }, 'email'],
])('Strict types: a value that a transformer throws for is refused: %j', async (body, field) => {
  const reply = await put('changed/one', body)
  expect([reply.status, reply.json(), reply.text]).toMatchObject([
    400,
    { errors: [{ field }] },
    expect.not.stringContaining('canary'),
  ])
})

test('a foreign key can refer to a key with a transformer', async () => {
  expect((await post('changed', { id: 'two', next_id: 'one' })).json()).toMatchObject({ id: 'two', next_id: 'one' })
  expect(await ids('changed?next=one')).toEqual(['two'])
  expect(await ids('changed?next__email=ann@x.org')).toEqual(['two'])
  expect((await put('changed/two', { next_id: 'two' })).json()).toMatchObject({ next_id: 'two' })
  expect((await put('changed/two', { next_id: 'no' })).json()).toMatchObject({ errors: [{ field: 'next_id' }] })
})

test('the type of a property is the type that its transformer accepts, whatever the column type is', async () => {
  const made = await post('strange', { id: '5', count: 7, expires: '2030-01-01 00:00:00' })
  expect([made.status, made.json()]).toEqual([
    201,
    { id: '5', count: 7, price: null, total: null, expires: '2030-01-01 00:00:00', once: null },
  ])
  expect(await ids('strange?id=5&count=7&expires=2030-01-01%2000:00:00')).toEqual(['5'])
  for (const body of [{ count: 1.5 }, { count: 'x' }, { expires: 'soon' }, { expires: 5 }]) {
    expect((await put('strange/5', body)).status).toBe(400)
  }
  for (const id of ['nothing', '5x']) {
    expect((await get(`strange/${id}/`)).status).toBe(404)
    expect((await post('strange', { id })).json()).toMatchObject({ status: 400, errors: [{ field: 'id' }] })
  }
  expect((await get('strange?id__like=5%25')).status).toBe(400)
})

test('the default of a field with a transformer is converted for each record', async () => {
  const replies = [await post('stamped', {}), await post('stamped', {}), await post('stamped', {})]
  expect(new Set(replies.map((reply) => (reply.json() as Stamped).token)).size).toBe(3)
  expect((await post('stamped', { token: 'given' })).json()).toMatchObject({ token: 'given' })
})

test.each(['price', 'total'])(
  'fractions that a transformer stores as integers are shown as numbers: %s',
  async (field) => {
    expect((await put('strange/5', { [field]: 12.5 })).json()).toMatchObject({ [field]: 12.5 })
    expect((await put('strange/5', { [field]: 0.29 })).json()).toMatchObject({ [field]: 0.29 })
    const [row] = await world.sql(`SELECT "${field}" AS "stored" FROM "strange"`)
    expect(Number(row?.['stored'])).toBe(29)
    for (const filter of ['=0.29', '__in=0.29,0.3', '__gt=0.28', '__lte=0.29', '__ne=0.3']) {
      expect([filter, await ids(`strange?${field}${filter}`)]).toEqual([filter, ['5']])
    }
    for (const value of ['12.5', 1e20]) expect((await put('strange/5', { [field]: value })).status).toBe(400)
    expect((await get(`strange?${field}=1e20`)).status).toBe(400)
    expect((await put('strange/5', { [field]: null })).json()).toMatchObject({ [field]: null })
  },
)

test('a value that the transformer cannot read back is not stored', async () => {
  const answer = { status: 400, errors: [{ field: 'once', message: expect.stringContaining('can read back') }] }
  expect((await post('strange', { id: '6', once: 'not json' })).json()).toMatchObject(answer)
  expect((await put('strange/5', { once: 'not json' })).json()).toMatchObject(answer)
  const patch = (body: object) => send(world.url, 'PATCH /api/strange/?id=5', { body })
  expect((await patch({ once: 'not json' })).json()).toMatchObject(answer)
  expect((await patch({ once: '[1]' })).status).toBe(200)
  const records = [
    { id: '6', once: '[1]' },
    { id: '7', once: 'not json' },
  ]
  const several = { status: 400, errors: [{ field: 'once', message: expect.stringContaining('can read back') }] }
  expect((await post('strange', records)).json()).toMatchObject(several)
  const lines = records.map((record) => JSON.stringify(record)).join('\n')
  const imported = await send(world.url, 'POST /api/strange/', {
    body: lines,
    headers: { 'Content-Type': 'application/x-ndjson' },
  })
  expect(imported.json()).toMatchObject(several)
  expect(await ids('strange')).toEqual(['5'])
  expect(await ids('strange')).toEqual(['5'])
  expect((await put('strange/5', { once: '{"a":1}' })).json()).toMatchObject({ once: { a: 1 } })
})

const unstorable: readonly object[] = [
  { one: ['a', 2] },
  { one: {} },
  { n: { n: [1, 2] } },
  { n: { n: 'x' } },
  { n: { n: 2 ** 53 } },
  { n: {} },
  { tags: {} },
  { tags: { tags: ['a', 'b'] } },
  { tags: { toString: 1, valueOf: 2 } },
  { tags: ['a', { toString: 1, valueOf: 2 }] },
  { tags: [['a', 'b']] },
]

test.each(unstorable)(
  'a value that no column can store is refused, whatever the transformer returns: %j',
  async (body) => {
    const [field] = Object.keys(body)
    const { status, errors } = (await post('owned', body)).json() as { status: number; errors: { field: string }[] }
    expect([status, errors.map((error) => error.field)]).toEqual([400, expect.arrayContaining([field])])
  },
)

test('tables, columns and properties can have unusual names', async () => {
  const record = { id: 1, group: 1, tr_p0: 2, constructors: 3, toJSON: 4, c0: 5, t0: 6 }
  expect((await post('odd', {})).json()).toEqual(record)
  expect((await put('odd/1', { tr_p0: 7, group: 8 })).json()).toEqual({ ...record, tr_p0: 7, group: 8 })
  expect(await ids('odd?tr_p0=7&group=8&toJSON__in=4,5&c0__gte=5&t0=6&ordering=-toJSON,tr_p0')).toEqual([1])
})

test('the flags of users can be integers', async () => {
  for (const [username, active] of Object.entries({ ann: 1, bob: 0 })) {
    await world.sql(`INSERT INTO "member" ("username", "password", "active") VALUES ('${username}', '', ${active})`)
  }
  const { hashPassword } = await import('typeorm-resources')
  for (const username of ['ann', 'bob']) {
    await world.dataSource.getRepository(Member).update({ username }, { password: await hashPassword(username) })
  }
  expect((await send(world.url, 'GET /api/member/', { as: 'ann' })).status).toBe(200)
  expect((await send(world.url, 'GET /api/member/', { as: 'bob' })).status).toBe(401)
})

test('a naming strategy of the application is used', async () => {
  const api = apiOf(() => named.url)
  expect((await api.post('snake', { longName: 'x' })).json()).toMatchObject({ id: 1, longName: 'x', tail_id: null })
  expect((await api.post('snake', { longName: 'y', tail_id: 1 })).json()).toMatchObject({ tail_id: 1 })
  expect((await api.get('snake?tail__longName=x&ordering=-createdAt')).json()).toMatchObject({ objects: [{ id: 2 }] })
})
