import { orderOperators, refuse, stringJsonType, type ValueType } from './value-type'

const dateTimePattern = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i

/**
 * Parses an ISO 8601 date-time, to the millisecond (further digits are cut off). Without an offset it is UTC; without a
 * time it is midnight (specification: Date-times).
 * @returns undefined for any other text, for dates that do not exist, such as February 30th, and outside the years 1 to
 * 9999
 */
export function parseDateTime(text: string): Date | undefined {
  const [, date, time = '00:00', second = '00', fraction = '', offset = 'Z'] = dateTimePattern.exec(text) ?? []
  if (date === undefined || !isDate(date) || !isTime(`${time}:${second}`)) return undefined
  const minutes = offsetMinutes(offset)
  if (minutes === undefined) return undefined
  const local = Date.parse(`${date}T${time}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}Z`)
  const instant = new Date(local - minutes * 60_000)
  const year = instant.getUTCFullYear()
  return year >= 1 && year <= 9999 ? instant : undefined
}

/** Renders an instant as `YYYY-MM-DD HH:MM:SS` in UTC. Years outside 0 to 9999 have a sign and six digits. */
export function renderDateTime(instant: Date): string {
  const text = instant.toISOString()
  const start = text.length - 14
  return `${text.slice(0, start)} ${text.slice(start + 1, -5)}`
}

/**
 * The length of the interval that an instant stands for, in milliseconds. An instant without a fraction of a second
 * stands for the whole second, because records show no fraction (specification: Date-times).
 */
export function resolution(instant: Date): 1 | 1000 {
  return instant.getTime() % 1000 === 0 ? 1000 : 1
}

function offsetMinutes(offset: string): number | undefined {
  if (offset.toUpperCase() === 'Z') return 0
  const [, sign, hours, minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(offset) ?? []
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}

function isDate(text: string): boolean {
  const instant = new Date(`${text}T00:00:00Z`)
  return !text.startsWith('0000') && !Number.isNaN(instant.getTime()) && instant.toISOString().startsWith(text)
}

function isTime(text: string): boolean {
  return /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(text)
}

/** @param parse returns undefined for a text that is not a value of the type */
function temporalType(
  valueType: Omit<ValueType, 'operators' | 'fromText' | 'fromJson'>,
  parse: (text: string) => unknown,
): ValueType {
  const fromText = (text: string): unknown => parse(text) ?? refuse(valueType.description)
  return stringJsonType({ ...valueType, operators: orderOperators, fromText })
}

/** The first and the last instant that a column can store, both included. */
export interface InstantRange {
  readonly first: Date
  readonly last: Date
}

/** Value type of date-time columns that can store only a part of the years 1 to 9999. */
export function rangedDateTimeType({ first, last }: InstantRange): ValueType {
  const bounds = `from ${renderDateTime(first)} to ${renderDateTime(last)}`
  return buildDateTimeType(
    `a date and time in UTC ${bounds}, as "2024-02-29 10:20:30" or ISO 8601`,
    (text) => {
      const instant = parseDateTime(text)
      return instant !== undefined && instant >= first && instant <= last ? instant : undefined
    },
    last,
  )
}

/** The last instant that {@link parseDateTime} accepts. */
export const lastInstant = new Date('9999-12-31T23:59:59.999Z')

function buildDateTimeType(
  description: string,
  parse: (text: string) => Date | undefined,
  last = lastInstant,
): ValueType {
  return temporalType(
    {
      name: 'date-time',
      description,
      schema: {
        type: 'string',
        pattern: String.raw`^([+-]\d{6}|\d{4})-\d\d-\d\d \d\d:\d\d:\d\d$`,
        examples: ['2024-02-29 10:20:30'],
      },
      inputSchema: {
        type: 'string',
        pattern: String.raw`^\d{4}-\d\d-\d\d([T ].*)?$`,
        examples: ['2024-02-29 10:20:30'],
      },
      // Stored values may not be instants: SQLite stores any text, PostgreSQL also `infinity`.
      toJson: (value) =>
        value instanceof Date && !Number.isNaN(value.getTime()) ? renderDateTime(value) : String(value),
      upperBound: (value) => {
        const end = new Date((value as Date).getTime() + resolution(value as Date))
        return end > last ? undefined : end
      },
    },
    parse,
  )
}

/** Value type of date-time columns that can store the years 1 to 9999. */
export const dateTimeType = buildDateTimeType(
  'a date and time in UTC, as "2024-02-29 10:20:30" or ISO 8601',
  parseDateTime,
)

/**
 * Value type of date-time columns that round to a precision. Bodies cannot have the last instants of the year 9999, which
 * would be stored in the year 10000.
 * @param precision number of digits after the seconds
 */
export function roundedDateTimeType(precision: number): ValueType {
  // Half of the last stored digit, in milliseconds.
  const last = new Date(lastInstant.getTime() - 500 / 10 ** precision)
  const bound = last.toISOString().replace('T', ' ').replace('Z', '')
  const isStorable = (value: unknown): boolean => value instanceof Date && value <= last
  return {
    ...dateTimeType,
    fromJson: (json) => {
      const value = dateTimeType.fromJson(json)
      return isStorable(value) ? value : refuse(`${dateTimeType.description}, up to ${bound}`)
    },
  }
}

/** Value type of date columns, which can be keys. @param firstYear first year that the column can store */
export function dateTypeFromYear(firstYear: number): ValueType {
  const from = firstYear > 1 ? ` from the year ${firstYear} on` : ''
  return temporalType(
    {
      name: 'date',
      description: `a date${from}, as "2024-02-29"`,
      schema: { type: 'string', format: 'date', examples: ['2024-02-29'] },
      inPath: /^\d{4}-\d\d-\d\d$/,
      // With `@CreateDateColumn({ type: 'date' })`, SQLite stores the time as well. PostgreSQL also has dates such as
      // `0044-03-15 BC`.
      toJson: (value) =>
        (value instanceof Date ? value.toISOString() : String(value)).replace(/^(\d{4}-\d\d-\d\d)[T ]\d.*$/s, '$1'),
      upperBound: (value) => {
        const end = new Date(Date.parse(`${value}T00:00:00Z`) + 86_400_000)
        return end.getUTCFullYear() > 9999 ? undefined : end.toISOString().slice(0, 10)
      },
    },
    (text) =>
      /^\d{4}-\d\d-\d\d$/.test(text) && isDate(text) && Number(text.slice(0, 4)) >= firstYear ? text : undefined,
  )
}

/** Value type of date columns that can store the years 1 to 9999. */
export const dateType = dateTypeFromYear(1)

/** Value type of times of day without an offset. */
export const timeType = temporalType(
  {
    name: 'time',
    description: 'a time of day, as "10:20:30"',
    schema: { type: 'string', pattern: String.raw`^\d\d:\d\d:\d\d`, examples: ['10:20:30'] },
    inputSchema: { type: 'string', pattern: String.raw`^\d\d:\d\d(:\d\d)?$`, examples: ['10:20:30'] },
    // Databases may store fractions of a second, which records do not show.
    toJson: (value) => String(value).replace(/\.\d+$/, ''),
    upperBound: (value) => {
      const end = new Date(Date.parse(`1970-01-01T${value}Z`) + 1000)
      return end.getUTCDate() > 1 ? undefined : end.toISOString().slice(11, 19)
    },
  },
  (text) => {
    const full = /^\d\d:\d\d$/.test(text) ? `${text}:00` : text
    return isTime(full) ? full : undefined
  },
)
