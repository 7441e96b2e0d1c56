import { isIP } from 'node:net'
import { isStorableText } from './text'
import {
  type JsonSchema,
  nullOperators,
  type OperatorName,
  orderOperators,
  refuse,
  stringJsonType,
  type ValueType,
} from './value-type'

/** Builds the value type of a column type that drivers represent as text. Only the syntax of the text is checked here. */
function spelledType(
  description: string,
  hasSyntax: (text: string) => boolean,
  operators = orderOperators,
  schema: JsonSchema = { type: 'string' },
): ValueType {
  const fromText = (text: string): string => (isStorableText(text) && hasSyntax(text) ? text : refuse(description))
  return stringJsonType({ name: 'other', description, schema, operators, fromText, toJson: String })
}

/** Value type of PostgreSQL's `inet` and `cidr`. */
export const networkType = spelledType('an IP address, with /bits for a network', (text) => {
  const [address = '', bits = '0', more] = text.split('/')
  const version = isIP(address)
  return more === undefined && version > 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)
})

/** Value type of MariaDB's `inet4` and `inet6`. @param version version of the Internet Protocol */
export function addressType(version: 4 | 6): ValueType {
  return spelledType(`an IPv${version} address`, (text) => isIP(text) === version, orderOperators, {
    type: 'string',
    format: `ipv${version}`,
  })
}

/** Value type of PostgreSQL's `macaddr` and `macaddr8`. */
export const macAddressType = spelledType('a MAC address, as "08:00:2b:01:02:03"', (text) =>
  /^[\da-f]{2}([:-][\da-f]{2}){5}(([:-][\da-f]{2}){2})?$/i.test(text),
)

/** Value type of PostgreSQL's `time with time zone`. */
export const offsetTimeType = spelledType('a time of day with its offset, as "10:20:30+02:00"', (text) =>
  /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(Z|[+-]\d\d(:\d\d){0,2})$/i.test(text),
)

/** Value type of PostgreSQL's `interval`. */
export const intervalType = spelledType('an interval, as "1 day 02:30:00" or "P1DT2H30M"', (text) =>
  /^(P[\dYMWDTHS.,-]{1,60}|[-+]?\d[\w\s:.+-]{0,100})$/.test(text),
)

const rangePattern = /^([[({].{0,300}[\])}]|empty)$/s

/** Value type of PostgreSQL's ranges and multiranges. */
export function rangeType(example: string): ValueType {
  return spelledType(`a range, as ${JSON.stringify(example)}`, (text) => rangePattern.test(text))
}

/**
 * The same for decimals. PostgreSQL shows them without an exponent: `1e131000` would become a text of 131,000 digits. It ignores quotes
 * and backslashes in the bounds.
 */
export function decimalRangeType(example: string): ValueType {
  const description = `a range of decimals without exponents and quotes, as ${JSON.stringify(example)}`
  return spelledType(description, (text) => rangePattern.test(text) && !/["\\]|[\d.]e/i.test(text))
}

/**
 * Value type of PostgreSQL's geometric types. They have no usable equality: PostgreSQL compares them by area or not at
 * all.
 */
export function geometricType(example: string): ValueType {
  const hasSyntax = (text: string): boolean => /^[\d.,eE+\-()[\]{}<>\s]{1,10000}$/.test(text)
  return spelledType(`a geometric value, as ${JSON.stringify(example)}`, hasSyntax, nullOperators)
}

/**
 * Greatest length of texts for which the time of PostgreSQL's parser grows with the square of the length, in characters.
 * The time limit of a statement does not end the parser: 300,000 operators of a `tsquery` took it a minute, 30,000
 * attributes of an XML element several seconds.
 */
const maxParsedLength = 100_000

interface UncheckedTextOptions {
  readonly operators?: readonly OperatorName[]
  /** In characters. */
  readonly maxLength?: number
}

/** Value type whose syntax only the database can check. @param name name of the column type */
export function uncheckedTextType(
  name: string,
  example: string,
  { operators = nullOperators, maxLength = Number.POSITIVE_INFINITY }: UncheckedTextOptions = {},
): ValueType {
  const limit = maxLength === Number.POSITIVE_INFINITY ? '' : ` of at most ${maxLength} characters`
  const description = `${name}${limit}, as ${JSON.stringify(example)}`
  const schema = { type: 'string', ...(maxLength < Number.POSITIVE_INFINITY && { maxLength }) }
  return spelledType(description, (text) => text.length <= maxLength, operators, schema)
}

/** Value type of PostgreSQL's `tsquery`. */
export const textQueryType = uncheckedTextType('tsquery', "'fat' & 'cat'", { maxLength: maxParsedLength })

/** A number with an exponent of three or more digits, but not a part of a name. */
const greatExponent = /(?<![\p{L}\p{N}_$])\d[\d_]*(?:\.[\d_]*)?e[+-]?[\d_]{3}/iu

/**
 * Value type of PostgreSQL's `jsonpath`, which shows numbers without an exponent: `1e131000` would become 131,000 digits. Comments,
 * which PostgreSQL does not store, are refused: a quote in one does not begin a text.
 */
export const jsonPathType = spelledType(
  `a jsonpath of at most ${maxParsedLength} characters, without comments and with exponents of at most two digits, as "$.a"`,
  (text) =>
    text.length <= maxParsedLength &&
    !text.includes('/*') &&
    !greatExponent.test(text.replace(/"(?:[^"\\]|\\.)*"|\\./gs, ' ')),
  nullOperators,
)

/** Value type of PostgreSQL's `xml`. */
export const xmlType = uncheckedTextType('XML', '<a/>', { maxLength: maxParsedLength })

/**
 * White space that PostgreSQL ignores around a key or a value. Other spaces, such as U+00A0, are part of the key or
 * value.
 */
const hstoreSpaces = String.raw`[ \t\n\r\f]*`
const hstorePart = String.raw`${hstoreSpaces}(?:"(?:[^"\\]|\\.)*"|[^\s"\\,=>]+)${hstoreSpaces}`
const hstorePairs = new RegExp(`^(${hstoreSpaces}|${hstorePart}=>${hstorePart}(,${hstorePart}=>${hstorePart})*)$`, 's')

/** Value type of PostgreSQL's `hstore` as text. PostgreSQL would report wrong syntax as an internal error. */
export const hstoreTextType = spelledType('hstore, as "a"=>"1"', (text) => hstorePairs.test(text), nullOperators)
