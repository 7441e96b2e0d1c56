import { packedBitsKind } from '../value/bits'
import { booleanKind } from '../value/boolean'
import { dateKindFrom, dateTimeKindWithin, lastInstant, timeKind } from '../value/date-time'
import { jsonKind, setKind, simpleArrayKind } from '../value/json'
import { decimalKind, floatKind, integerKind, integerRange, singleKind } from '../value/number'
import { addressKind } from '../value/spelled'
import { uuidKind } from '../value/text'
import type { BuildKind, KindEntry, KindTable } from './kind-table'
import { members, text } from './text-kinds'

const integer =
  (bits: number): BuildKind =>
  ({ unsigned }) =>
    integerKind(unsigned ? { min: 0n, max: 2n ** BigInt(bits) - 1n } : integerRange(bits))

const decimal: BuildKind = ({ precision, scale }) => {
  const [all, fraction] = [precision ?? 10, scale ?? 0]
  return decimalKind({ whole: all - fraction, fraction, significant: all })
}
const set: BuildKind = ({ enum: values }) => setKind((values ?? []).map(String))

/** Of the dates that MySQL supports; its driver makes others of those before. */
const firstYear = 1000

/** Its driver stores local time, whose year 10000 begins earlier in the east. */
const lastLocalInstant = new Date(Math.min(lastInstant.getTime(), new Date(9999, 11, 31, 23, 59, 59, 999).getTime()))

export const mysqlKinds: KindTable = new Map<string, KindEntry>([
  ['bit', packedBitsKind],
  ['tinyint', integer(8)],
  ['smallint', integer(16)],
  ['mediumint', integer(24)],
  ['int', integer(32)],
  ['integer', integer(32)],
  ['bigint', integer(64)],
  ['bool', booleanKind],
  ['boolean', booleanKind],
  ['float', singleKind],
  ['double', floatKind],
  ['double precision', floatKind],
  ['real', floatKind],
  ['decimal', decimal],
  ['dec', decimal],
  ['numeric', decimal],
  ['fixed', decimal],
  ['date', dateKindFrom(firstYear)],
  ['datetime', dateTimeKindWithin({ first: new Date(`${firstYear}-01-01`), last: lastLocalInstant })],
  [
    'timestamp',
    dateTimeKindWithin({ first: new Date('1970-01-01T00:00:01Z'), last: new Date('2038-01-19T03:14:07Z') }),
  ],
  ['time', timeKind],
  ['year', integerKind({ min: 1901n, max: 2155n })],
  ['char', text],
  ['nchar', text],
  ['national char', text],
  ['varchar', text],
  ['nvarchar', text],
  ['national varchar', text],
  ['tinytext', text],
  ['text', text],
  ['mediumtext', text],
  ['longtext', text],
  ['enum', members],
  ['simple-enum', members],
  ['set', set],
  ['json', jsonKind],
  ['simple-json', jsonKind],
  ['simple-array', simpleArrayKind],
  ['uuid', uuidKind],
  ['inet4', addressKind(4)],
  ['inet6', addressKind(6)],
  ['blob', 'binary'],
  ['tinyblob', 'binary'],
  ['mediumblob', 'binary'],
  ['longblob', 'binary'],
  ['binary', 'binary'],
  ['varbinary', 'binary'],
])
