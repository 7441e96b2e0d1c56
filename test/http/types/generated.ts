import fc from 'fast-check'
import type { ColumnOptions } from 'typeorm'
import type { Json } from '../../../src/value/value-type'
import { isMariadb, isPostgres } from '../../world/leg'

/** A column and generated values for it. */
export interface GeneratedColumn {
  readonly name: string
  readonly type: string
  readonly options?: ColumnOptions
  readonly values: fc.Arbitrary<Json>
}

/** Generates the given edge cases often, so that there are duplicates, and other values in between. */
const often = (edges: readonly Json[], others: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc.oneof(fc.constantFrom(...edges), others)

const toJson = (value: bigint): Json => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value))
const maxBigint = 2n ** 63n - 1n
const bigs = often(
  [toJson(maxBigint), toJson(-maxBigint - 1n), 2 ** 53 - 1, '9007199254740993', 0, -1],
  fc.bigInt({ min: -maxBigint, max: maxBigint }).map(toJson),
)

const decimals = often(
  ['0', '-0.10', '0.1', '99999999999.999', '-0.001', '007'],
  fc.integer({ min: -(10 ** 9), max: 10 ** 9 }).map((thousandths) => (thousandths / 1000).toFixed(3)),
)

const minDouble = 2.2250738585072014e-308
const doubles = often(
  [0, 0.1, 1 / 3, 1e21, -1e-7, Number.MAX_VALUE, minDouble],
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((one) => Math.abs(one) >= minDouble),
)
const singles = often(
  [0, 0.1, 16777217, 3.4e38, -0.5],
  fc.float({ noNaN: true, noDefaultInfinity: true }).filter((one) => Math.abs(one) >= 2 ** -126),
)

const characters = fc.constantFrom(...'aAbB éÉß%_\\"\'`,;?*[]0 ', '😀', '\n')
const texts = (maxLength: number): fc.Arbitrary<Json> =>
  often(
    ['', ' ', 'a', 'A', 'a ', 'é', 'e', '%', '_', '\\', '"', "'", 'null', '😀', 'ß', 'ss'].filter(
      (text) => text.length <= maxLength,
    ),
    fc.oneof(
      fc.array(characters, { maxLength }).map((all) => all.join('')),
      fc.string({ unit: 'grapheme', maxLength: 3 }),
    ),
  ).filter((text) => [...String(text)].length <= maxLength && !String(text).includes('\0'))

// MariaDB does not accept all UUIDs of version 8.
const uuids = fc.uuid({ version: [1, 4, 7] })

const day = 86_400_000

/**
 * Whether an instant is more than a day away from a change of daylight saving time, where local time, which drivers store without a zone,
 * loses an hour.
 */
const isFarFromChange = (instant: Date): boolean => {
  const offset = (days: number): number => new Date(instant.getTime() + days * day).getTimezoneOffset()
  return offset(-1) === offset(0) && offset(0) === offset(1)
}

const dateTimes = (first: string, last: string): fc.Arbitrary<Json> =>
  fc
    .oneof(
      fc.date({ min: new Date(first), max: new Date(last), noInvalidDate: true }),
      // Within a few seconds, with milliseconds.
      fc.integer({ min: 0, max: 3000 }).map((milliseconds) => new Date(Date.UTC(2024, 1, 29) - 1000 + milliseconds)),
    )
    .filter(isFarFromChange)
    .map((instant) => instant.toISOString())

const firstYear = isMariadb ? '1000' : '0001'
const everyDateTime = dateTimes(`${firstYear}-01-03T00:00:00Z`, '9999-12-29T23:59:59.999Z')
const dates = often(
  ['2024-02-29', `${firstYear}-01-01`, '9999-12-31', '1969-12-31'],
  fc
    .date({ min: new Date(`${firstYear}-01-01`), max: new Date('9999-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
)
const times = fc
  .integer({ min: 0, max: day / 1000 - 1 })
  .map((second) => new Date(second * 1000).toISOString().slice(11, 19))

const everywhere: readonly GeneratedColumn[] = [
  { name: 'small', type: 'smallint', values: often([0, 1, -32768, 32767], fc.integer({ min: -9, max: 9 })) },
  { name: 'int', type: 'int', values: often([0, 2 ** 31 - 1, -(2 ** 31)], fc.integer()) },
  { name: 'big', type: 'bigint', values: bigs },
  { name: 'decimal', type: 'decimal', options: { precision: 15, scale: 3 }, values: decimals },
  { name: 'double', type: 'double precision', values: doubles },
  { name: 'truth', type: 'boolean', values: fc.boolean() },
  { name: 'text', type: 'text', values: texts(12) },
  { name: 'short', type: 'varchar', options: { length: 3 }, values: texts(3) },
  { name: 'uuid', type: 'uuid', values: uuids },
  { name: 'one', type: 'simple-enum', options: { enum: ['a', 'b,c', 'D'] }, values: fc.constantFrom('a', 'b,c', 'D') },
  { name: 'date', type: 'date', values: dates },
  { name: 'time', type: 'time', values: often(['00:00:00', '23:59:59'], times) },
]

const ofSqlite: readonly GeneratedColumn[] = [{ name: 'moment', type: 'datetime', values: everyDateTime }]

const ofPostgres: readonly GeneratedColumn[] = [
  { name: 'single', type: 'real', values: singles },
  { name: 'money', type: 'money', values: fc.integer().map((cents) => (cents / 100).toFixed(2)) },
  { name: 'padded', type: 'char', options: { length: 4 }, values: texts(4) },
  { name: 'citext', type: 'citext', values: texts(5) },
  { name: 'moment', type: 'timestamp', values: everyDateTime },
  { name: 'instant', type: 'timestamptz', values: everyDateTime },
  { name: 'interval', type: 'interval', values: fc.integer().map((seconds) => `${seconds} seconds`) },
  { name: 'inet', type: 'inet', values: fc.oneof(fc.ipV4(), fc.ipV6()).filter((ip) => !ip.endsWith('.')) },
  {
    name: 'range',
    type: 'int4range',
    values: fc.tuple(fc.nat(9), fc.nat(9)).map(([from, size]) => `[${from},${from + size})`),
  },
]

const ofMariadb: readonly GeneratedColumn[] = [
  { name: 'unsigned', type: 'bigint', options: { unsigned: true }, values: fc.bigInt(0n, 2n ** 64n - 1n).map(toJson) },
  { name: 'single', type: 'float', values: singles },
  { name: 'padded', type: 'char', options: { length: 4 }, values: texts(4) },
  { name: 'moment', type: 'datetime', options: { precision: 3 }, values: everyDateTime },
  { name: 'second', type: 'datetime', values: everyDateTime },
  {
    name: 'instant',
    type: 'timestamp',
    options: { precision: 3 },
    values: dateTimes('1970-01-03T00:00:00Z', '2038-01-17T00:00:00Z'),
  },
  { name: 'year', type: 'year', values: fc.integer({ min: 1901, max: 2155 }) },
  { name: 'inet', type: 'inet6', values: fc.ipV6() },
]

export const generatedColumns: readonly GeneratedColumn[] = [
  ...everywhere,
  ...(isPostgres ? ofPostgres : isMariadb ? ofMariadb : ofSqlite),
]

/** Bodies with a value or null for each column. */
export const bodies: fc.Arbitrary<Readonly<Record<string, Json>>> = fc.record(
  Object.fromEntries(generatedColumns.map(({ name, values }) => [name, fc.option(values, { freq: 6 })])),
)
