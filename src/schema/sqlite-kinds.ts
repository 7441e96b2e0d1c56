import { booleanKind } from '../value/boolean'
import { dateKind, dateTimeKind, timeKind } from '../value/date-time'
import { jsonKind, simpleArrayKind } from '../value/json'
import { decimalKind, floatKind, integerKind, integerRange, safeRange } from '../value/number'
import { uuidKind } from '../value/text'
import type { BuildKind, KindEntry, KindTable } from './kind-table'
import { members, text } from './text-kinds'

/** SQLite keeps decimals as doubles, which hold 15 digits. */
const digits = 15
const decimal: BuildKind = ({ precision, scale = 0 }) =>
  typeof precision === 'number'
    ? decimalKind({ whole: precision - scale, fraction: scale, significant: Math.min(precision, digits) })
    : decimalKind({ whole: digits, fraction: digits, significant: digits })

/** SQLite keeps 64 bits in every integer column: those that TypeORM reads as numbers are held to what a number holds. */
export const sqliteKinds: KindTable = new Map<string, KindEntry>([
  ['tinyint', integerKind(integerRange(8))],
  ['int2', integerKind(integerRange(16))],
  ['smallint', integerKind(integerRange(16))],
  ['mediumint', integerKind(integerRange(24))],
  ['int', integerKind(safeRange)],
  ['integer', integerKind(safeRange)],
  ['bigint', integerKind(integerRange(64))],
  ['int8', integerKind(integerRange(64))],
  ['unsigned big int', integerKind({ min: 0n, max: integerRange(64).max })],
  ['real', floatKind],
  ['float', floatKind],
  ['double', floatKind],
  ['double precision', floatKind],
  ['numeric', decimal],
  ['decimal', decimal],
  ['boolean', booleanKind],
  ['character', text],
  ['varchar', text],
  ['varying character', text],
  ['nchar', text],
  ['native character', text],
  ['nvarchar', text],
  ['text', text],
  ['clob', text],
  ['uuid', uuidKind],
  ['simple-enum', members],
  ['date', dateKind],
  ['time', timeKind],
  ['datetime', dateTimeKind],
  ['json', jsonKind],
  ['jsonb', jsonKind],
  ['simple-json', jsonKind],
  ['simple-array', simpleArrayKind],
  ['blob', 'binary'],
])
