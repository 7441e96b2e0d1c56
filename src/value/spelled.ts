import { isIP } from 'node:net'
import { isStorable } from './text'
import {
  equalityOperators,
  type JsonSchema,
  nullOperators,
  orderOperators,
  refuse,
  textualType,
  type ValueType,
} from './value-type'

/** A kind that PostgreSQL or MariaDB spells as text, which is checked here as far as its form goes. */
function spelledType(
  description: string,
  isForm: (text: string) => boolean,
  operators = orderOperators,
  schema: JsonSchema = { type: 'string' },
): ValueType {
  const fromText = (text: string): string => (isStorable(text) && isForm(text) ? text : refuse(description))
  return textualType({ name: 'other', description, schema, operators, fromText, toJson: String })
}

export const networkType = spelledType('an IP address, with /bits for a network', (text) => {
  const [address = '', bits = '0', more] = text.split('/')
  const version = isIP(address)
  return more === undefined && version > 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)
})

/** An address of this version of the Internet Protocol. */
export function addressType(version: 4 | 6): ValueType {
  return spelledType(`an IPv${version} address`, (text) => isIP(text) === version, orderOperators, {
    type: 'string',
    format: `ipv${version}`,
  })
}

export const macAddressType = spelledType('a MAC address, as "08:00:2b:01:02:03"', (text) =>
  /^[\da-f]{2}([:-][\da-f]{2}){5}(([:-][\da-f]{2}){2})?$/i.test(text),
)

export const offsetTimeType = spelledType('a time of day with its offset, as "10:20:30+02:00"', (text) =>
  /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(Z|[+-]\d\d(:\d\d){0,2})$/i.test(text),
)

export const intervalType = spelledType('an interval, as "1 day 02:30:00" or "P1DT2H30M"', (text) =>
  /^(P[\dYMWDTHS.,-]{1,60}|[-+]?\d[\w\s:.+-]{0,100})$/.test(text),
)

/** Ranges and multiranges of PostgreSQL. */
export function rangeType(example: string): ValueType {
  return spelledType(`a range, as ${JSON.stringify(example)}`, (text) => /^([[({].{0,300}[\])}]|empty)$/s.test(text))
}

/** Points, boxes, circles: PostgreSQL compares them by area or not at all. */
export function geometricType(example: string): ValueType {
  const isForm = (text: string): boolean => /^[\d.,eE+\-()[\]{}<>\s]{1,10000}$/.test(text)
  return spelledType(`geometric, as ${JSON.stringify(example)}`, isForm, nullOperators)
}

/** What only the database can read. */
export function opaqueType(name: string, example: string): ValueType {
  const operators = name === 'ltree' ? equalityOperators : nullOperators
  return spelledType(`${name}, as ${JSON.stringify(example)}`, () => true, operators)
}

/** PostgreSQL skips only these around a part; other spaces, as U+00A0, are letters to it. */
const hstoreSpaces = String.raw`[ \t\n\r\f]*`
const hstorePart = String.raw`${hstoreSpaces}(?:"(?:[^"\\]|\\.)*"|[^\s"\\,=>]+)${hstoreSpaces}`
const hstorePairs = new RegExp(`^(${hstoreSpaces}|${hstorePart}=>${hstorePart}(,${hstorePart}=>${hstorePart})*)$`, 's')

/** PostgreSQL's `hstore` as a text. Of a wrong one PostgreSQL says that the fault is its own. */
export const hstoreTextType = spelledType('hstore, as "a"=>"1"', (text) => hstorePairs.test(text), nullOperators)
