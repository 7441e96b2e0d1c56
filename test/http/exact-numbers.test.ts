import {
  Column,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  ViewColumn,
  ViewEntity,
  VirtualColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { idsOf, readPages } from '../support/pages'
import { isMariadb, isPostgres, isSqlite, sqlOf } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** SQL of a decimal as text on SQLite, which stores decimals as doubles; on the other databases a computed decimal. */
const printed = (column: string): string => (isSqlite ? `printf('%.2f', ${column})` : `${column} + 0.001 - 0.001`)

/** SQL of a number with more than 35 digits before the decimal point, except on SQLite. */
const long = (column: string): string => (isSqlite ? column : `${column} * 1000000000000000000000000000000.001`)
/** SQL of a number with more than 30 digits after the decimal point, except on SQLite. */
const fine = (column: string): string =>
  isSqlite ? column : `${column} * 0.001000000000000000001 * 1.0000000000000001`

/** Transformers as in applications that compute with a type of their own. */
const asBigInt = { to: (value: unknown) => BigInt(value as string), from: String }
const asText = { to: String, from: String }
const sameNumber = { to: (value: number) => value, from: (value: number | string) => Number(value) }
const asPercent = { to: (value: number) => value * 100, from: (value: number | string) => Number(value) / 100 }

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Amount {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'decimal', precision: 19, scale: 2 }) price!: string
  @Column({ type: 'bigint' }) big!: string
  @Column({ type: 'bigint', ...(isMariadb && { unsigned: true }) }) huge!: string
  @Column({ type: 'bigint', transformer: asBigInt }) reckoned!: unknown
  @Column({ type: 'bigint', transformer: asText }) text!: unknown
  @Column({ type: 'decimal', precision: 19, scale: 2, transformer: asText }) priceText!: unknown
  @VirtualColumn({ type: 'decimal', query: (alias) => long(`${alias}.price`), ...{ precision: 60, scale: 5 } })
  vlong!: string
  @VirtualColumn({ type: 'decimal', query: (alias) => fine(`${alias}.price`), ...{ precision: 60, scale: 38 } })
  vfine!: string
  @VirtualColumn({ type: 'bigint', query: (alias) => long(`${alias}.price`) }) vsum!: string
  @VirtualColumn({ type: 'decimal', query: (alias) => `${alias}.price`, ...{ precision: 19, scale: 2 } })
  vprice!: string
  @VirtualColumn({ type: 'bigint', query: (alias) => `${alias}.big + 0` }) vbig!: string
  @VirtualColumn({ type: 'int', query: (alias) => `(SELECT 7 - ${alias}.id)` }) vsmall!: number
}

@ViewEntity({
  expression: sqlOf(
    `SELECT "id", "price", ${printed('"price"')} AS "shown", "price" + 0 AS "sum", "big", "big" + 0 AS "bigger" FROM "amount"`,
  ),
})
@Resource({ auth: permitAllAsUser1 })
class AmountView {
  @ViewColumn() @PrimaryColumn({ type: 'int' }) id!: number
  @ViewColumn() @Column({ type: 'decimal', precision: 19, scale: 2 }) price!: string
  @ViewColumn() @Column({ type: 'decimal', precision: 22, scale: 3 }) shown!: string
  @ViewColumn() @Column({ type: 'decimal', precision: 19, scale: 2 }) sum!: string
  @ViewColumn() @Column({ type: 'bigint' }) big!: string
  @ViewColumn() @Column({ type: 'bigint' }) bigger!: string
}

/** Has decimals without a declared precision. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Undeclared {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'decimal', precision: 15, scale: 2 }) price!: string
  @Column({ type: isPostgres ? 'double precision' : 'double' }) double!: number
  @VirtualColumn({ type: 'decimal', query: (alias) => `SELECT CAST(${alias}.price AS DECIMAL(30, 5))` }) cast!: string
  @VirtualColumn({ type: 'decimal', query: (alias) => `SELECT ${alias}.price * ${alias}.price` }) product!: string
  @VirtualColumn({ type: 'decimal', query: (alias) => `SELECT ${alias}.double * 1e0` }) computed!: string
}

@ViewEntity({ expression: sqlOf(`SELECT "id", "price" + 0 AS "sum", "double" * 1e0 AS "half" FROM "undeclared"`) })
@Resource({ auth: permitAllAsUser1 })
class UndeclaredView {
  @ViewColumn() @PrimaryColumn({ type: 'int' }) id!: number
  @ViewColumn() @Column({ type: 'decimal' }) sum!: string
  @ViewColumn() @Column({ type: 'decimal' }) half!: string
}

/** Has numbers of single precision, some with transformers. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Single {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: isPostgres ? 'real' : 'float' }) plain!: number
  @Column({ type: isPostgres ? 'real' : 'float', transformer: sameNumber }) same!: number
  @Column({ type: isPostgres ? 'real' : 'float', transformer: asPercent }) percent!: number
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Wide {
  @PrimaryColumn({ type: 'bigint' }) id!: string
  @Column() title!: string
}

/** Has a foreign key without a constraint. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Referring {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Wide, { createForeignKeyConstraints: false }) wide!: Relation<Wide>
}

/** Values that are equal as doubles, and have another order as texts. */
const prices = isSqlite
  ? ['2.20', '10.00', '-3.50', '100.25', '7.00']
  : ['12345678901234567.01', '12345678901234567.02', '-3.50', '10.00', '7.00']
const longs = isSqlite
  ? prices
  : prices.map((price) =>
      String(BigInt(price.replace('.', '')) * 1000000000000000000000000000000001n).replace(/(\d{5})$/, '.$1'),
    )
/** The last one is bound as a number, of which MariaDB writes an exponent. */
const integers = ['9007199254740993', '9007199254740994', '-9007199254740995', '20', '1234567890123456']
const naturals = [
  '9007199254740993',
  isMariadb ? '18446744073709551615' : '9223372036854775807',
  '9007199254740992',
  '20',
  '1234567890123456',
]
const toJson = (text: string): unknown => (Number.isSafeInteger(Number(text)) ? Number(text) : text)

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Amount, AmountView, Wide, Referring, Single, Undeclared, UndeclaredView] })
  for (const [index, price] of prices.entries()) {
    const made = await post('amount', {
      price,
      big: toJson(integers[index] ?? ''),
      huge: toJson(naturals[index] ?? ''),
      reckoned: integers[index],
      text: integers[index],
      priceText: price,
    })
    expect([made.status, made.text]).toEqual([201, expect.any(String)])
  }
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, ids, post, put } = apiOf(() => world.url)

/** Value of a decimal, in hundred thousandths. */
const exact = (text: string): bigint => {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(5, '0'))
}

const fields: readonly (readonly [resource: string, field: string, stored: readonly string[]])[] = [
  ['amount', 'price', prices],
  ['amount', 'vprice', prices],
  ['amountview', 'price', prices],
  ['amountview', 'shown', prices],
  ['amountview', 'sum', prices],
  ['amount', 'big', integers],
  ['amount', 'vbig', integers],
  ['amountview', 'big', integers],
  ['amountview', 'bigger', integers],
  ['amount', 'huge', naturals],
  ['amount', 'reckoned', integers],
  ['amount', 'text', integers],
  ['amount', 'priceText', prices],
  ['amount', 'vlong', longs],
]

const holds: Readonly<Record<string, (one: bigint, other: bigint) => boolean>> = {
  eq: (one, other) => one === other,
  in: (one, other) => one === other,
  ne: (one, other) => one !== other,
  lt: (one, other) => one < other,
  lte: (one, other) => one <= other,
  gt: (one, other) => one > other,
  gte: (one, other) => one >= other,
}

test.each(fields)('%s?%s is compared with all of its digits', async (resource, field, stored) => {
  for (const value of stored) {
    for (const [operator, isHeld] of Object.entries(holds)) {
      const expected = stored.flatMap((one, index) => (isHeld(exact(one), exact(value)) ? [index + 1] : []))
      // A list of two members, since a database may compare a single one in another way.
      const operand = operator === 'in' ? `${value},${resource === 'amount' && field === 'huge' ? '7' : '-7'}` : value
      const query = `${resource}?${field}__${operator}=${operand}&ordering=id`
      expect([query, await ids(query)]).toEqual([query, expected])
    }
  }
})

/** The ids of a list by keyset, with one record per page. */
async function walk(resource: string, ordering: string): Promise<readonly unknown[]> {
  return idsOf(await readPages(world.url, `/api/${resource}?ordering=${ordering}&limit=1&after=`))
}

const sortedIds = (stored: readonly string[]): readonly number[] =>
  stored
    .map((text, index) => ({ id: index + 1, value: exact(text) }))
    .toSorted((one, other) => (one.value < other.value ? -1 : 1))
    .map(({ id }) => id)

test.each(fields)('%s is sorted by %s numerically, also by keyset', async (resource, field, stored) => {
  const sorted = sortedIds(stored)
  expect(await ids(`${resource}?ordering=${field}`)).toEqual(sorted)
  expect([field, await walk(resource, field)]).toEqual([field, sorted])
  expect([field, await walk(resource, `-${field}`)]).toEqual([field, sorted.toReversed()])
})

test.each(['vfine', 'vsum'])(
  'a walk by %s, which has more digits than numbers are compared with, ends',
  async (field) => {
    expect(await walk('amount', field)).toEqual(sortedIds(prices))
    expect(await walk('amount', `-${field}`)).toEqual(sortedIds(prices).toReversed())
  },
)

test('the shown value of a computed number finds its record', async () => {
  const { objects } = (await get('amountview?limit=9')).json() as { objects: Record<string, unknown>[] }
  for (const { id, ...record } of objects) {
    for (const [field, value] of Object.entries(record)) {
      expect([field, value, await ids(`amountview?${field}=${value}`)]).toEqual([field, value, [id]])
    }
  }
  for (const { id, vlong } of ((await get('amount?limit=9')).json() as { objects: Record<string, unknown>[] })
    .objects) {
    expect([vlong, await ids(`amount?vlong=${vlong}`)]).toEqual([vlong, [id]])
  }
  expect(await ids('amount?vsmall=5&ordering=-vsmall')).toEqual([2])
})

test.each([49, 300, 12849])('%d is stored exactly, also if a transformer converts it to a bigint', async (number) => {
  const { id } = (
    await post('amount', { price: '1', big: 1, huge: 1, reckoned: number, text: '1', priceText: '1' })
  ).json() as {
    id: number
  }
  const stored = async (): Promise<string> =>
    String((await world.sql(`SELECT "reckoned" AS "number" FROM "amount" WHERE "id" = ${id}`))[0]?.['number'])
  expect(await stored()).toBe(String(number))
  expect((await put(`amount/${id}`, { reckoned: String(number + 1) })).status).toBe(200)
  expect(await stored()).toBe(String(number + 1))
  expect((await send(world.url, `DELETE /api/amount/${id}/`)).status).toBe(204)
})

test.each(['reckoned', 'text'])(
  'integers that are equal as doubles are different values, also if a transformer converts them: %s',
  async (field) => {
    for (const [index, integer] of integers.entries()) {
      const record = (await get(`amount/${index + 1}/`)).json() as Record<string, unknown>
      expect(String(record[field])).toBe(integer)
    }
    const [first] = integers
    const rounded = '9007199254740992'
    const { headers } = await get('amount/1/')
    expect((await put('amount/1', { [field]: rounded })).json()).toMatchObject({ [field]: rounded })
    expect(await ids(`amount?${field}=${rounded}`)).toEqual([1])
    expect((await get('amount/1/')).headers.etag).not.toBe(headers.etag)
    expect((await put('amount/1', { [field]: first })).json()).toMatchObject({ [field]: first })
    expect(await ids(`amount?${field}=${first}`)).toEqual([1])
  },
)

test('keys that are equal as doubles are different keys', async () => {
  for (const id of integers.slice(0, 2)) expect((await post('wide', { id, title: id })).status).toBe(201)
  for (const id of integers.slice(0, 2)) {
    expect((await get(`wide/${id}/`)).json()).toEqual({ id, title: id })
    expect((await put(`wide/${id}`, { title: `${id}!` })).json()).toEqual({ id, title: `${id}!` })
    expect(await ids(`wide?id__in=${id},1`)).toEqual([id])
  }
  expect((await post('referring', { wide_id: integers[0] })).status).toBe(201)
  expect((await post('referring', { wide_id: '9007199254740995' })).status).toBe(400)
  expect(await ids(`referring?wide__in=${integers[1]},1`)).toEqual([])
  expect((await send(world.url, `DELETE /api/wide/${integers[0]}/`)).status).toBe(204)
  expect(await ids('wide')).toEqual([integers[1]])
})

test('numbers of single precision with a transformer are shown as they were sent, and found by this value', async () => {
  for (const number of [0.1, 0.25, 0.7, 1234.5, 0]) {
    const values = { plain: number, same: number, percent: number }
    const made = await post('single', values)
    const { id } = made.json() as { id: number }
    expect([made.status, made.json()]).toEqual([201, { id, ...values }])
    for (const field of Object.keys(values)) {
      for (const filter of [`=${number}`, `__in=${number},7,8`, `__gte=${number}&${field}__lte=${number}`]) {
        expect([field, filter, await ids(`single?${field}${filter}`)]).toEqual([field, filter, [id]])
      }
    }
    expect((await put(`single/${id}`, made.json())).json()).toEqual(made.json())
  }
  // PostgreSQL cannot parse such a filter.
  for (const field of isPostgres ? [] : ['same', 'percent']) {
    expect(await ids(`single?${field}=1e300`)).toEqual([])
    expect(await ids(`single?${field}__lt=1e300&limit=1`)).toHaveLength(1)
  }
})

test('computed decimals without precision have all digits, and are found by the shown value', async () => {
  // SQLite has 15 significant digits.
  const [price, double] = [isSqlite ? '123456.25' : '1234567890123.25', 12345678901.25]
  const made = await post('undeclared', { price, double })
  const { id, computed, cast } = made.json() as { id: number; computed: string; cast: string }
  expect([made.status, computed, cast]).toEqual([201, String(double), expect.stringMatching(`^${price}0*$`)])
  for (const resource of ['undeclared', 'undeclaredview']) {
    const record = (await get(`${resource}/${id}/`)).json() as object
    for (const [field, value] of Object.entries(record)) {
      expect([field, value, await ids(`${resource}?${field}=${value}`)]).toEqual([field, value, [id]])
      expect([field, await ids(`${resource}?${field}__in=${value},0`)]).toEqual([field, [id]])
      expect([field, await ids(`${resource}?${field}__lte=${value}&${field}__gte=${value}`)]).toEqual([field, [id]])
    }
  }
})
