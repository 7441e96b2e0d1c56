import { bitKind } from '../value/bits'
import { booleanKind } from '../value/boolean'
import { dateKind, dateTimeKind, timeKind } from '../value/date-time'
import { hstoreKind, jsonKind, numbersKind, simpleArrayKind } from '../value/json'
import { decimalKind, floatKind, integerKind, integerRange, singleKind } from '../value/number'
import {
  geometricKind,
  hstoreTextKind,
  intervalKind,
  macAddressKind,
  networkKind,
  offsetTimeKind,
  opaqueKind,
  rangeKind,
} from '../value/spelled'
import { textKind, uuidKind } from '../value/text'
import type { BuildKind, KindEntry, KindTable } from './kind-table'
import { members, text } from './text-kinds'

const most = 100
const decimal: BuildKind = ({ precision, scale = 0 }) =>
  typeof precision === 'number'
    ? decimalKind({ whole: precision - scale, fraction: scale, significant: precision })
    : decimalKind({ whole: most, fraction: most, significant: most })
const character: BuildKind = ({ length }) => textKind(Number(length) || 1)
const bits: BuildKind = ({ length }) => bitKind(Number(length) || 1, Number(length) || 1)
const varyingBits: BuildKind = ({ length }) => bitKind(0, Number(length) || Number.POSITIVE_INFINITY)
const hstore: BuildKind = ({ hstoreType }) => (hstoreType === 'object' ? hstoreKind : hstoreTextKind)

/** Of these TypeORM cannot write arrays. */
export const postgresWithoutArrays: ReadonlySet<string> = new Set(['json', 'jsonb', 'hstore', 'ltree', 'cube', 'box'])

export const postgresKinds: KindTable = new Map<string, KindEntry>([
  ['int', integerKind(integerRange(32))],
  ['int4', integerKind(integerRange(32))],
  ['integer', integerKind(integerRange(32))],
  ['int2', integerKind(integerRange(16))],
  ['smallint', integerKind(integerRange(16))],
  ['int8', integerKind(integerRange(64))],
  ['bigint', integerKind(integerRange(64))],
  ['decimal', decimal],
  ['numeric', decimal],
  ['money', decimalKind({ whole: 17, fraction: 2, significant: 19 })],
  ['real', singleKind],
  ['float4', singleKind],
  ['float', floatKind],
  ['float8', floatKind],
  ['double precision', floatKind],
  ['bool', booleanKind],
  ['boolean', booleanKind],
  ['varchar', text],
  ['character varying', text],
  ['char', character],
  ['character', character],
  ['text', text],
  ['citext', text],
  ['uuid', uuidKind],
  ['enum', members],
  ['simple-enum', members],
  ['date', dateKind],
  ['time', timeKind],
  ['time without time zone', timeKind],
  ['timetz', offsetTimeKind],
  ['time with time zone', offsetTimeKind],
  ['timestamp', dateTimeKind],
  ['timestamp without time zone', dateTimeKind],
  ['timestamptz', dateTimeKind],
  ['timestamp with time zone', dateTimeKind],
  ['interval', intervalKind],
  ['json', jsonKind],
  ['jsonb', jsonKind],
  ['simple-json', jsonKind],
  ['simple-array', simpleArrayKind],
  ['hstore', hstore],
  ['bit', bits],
  ['varbit', varyingBits],
  ['bit varying', varyingBits],
  ['inet', networkKind],
  ['cidr', networkKind],
  ['macaddr', macAddressKind],
  ['macaddr8', macAddressKind],
  ['point', geometricKind('(1,2)')],
  ['line', geometricKind('{1,2,3}')],
  ['lseg', geometricKind('[(0,0),(1,1)]')],
  ['box', geometricKind('(1,1),(0,0)')],
  ['path', geometricKind('((0,0),(1,1))')],
  ['polygon', geometricKind('((0,0),(1,1),(1,0))')],
  ['circle', geometricKind('<(0,0),1>')],
  ['tsvector', opaqueKind('tsvector', "'fat' 'cat'")],
  ['tsquery', opaqueKind('tsquery', "'fat' & 'cat'")],
  ['xml', opaqueKind('XML', '<a/>')],
  ['jsonpath', opaqueKind('jsonpath', '$."a"')],
  ['int4range', rangeKind('[1,5)')],
  ['int8range', rangeKind('[1,5)')],
  ['numrange', rangeKind('[1.5,2.5)')],
  ['tsrange', rangeKind('["2024-01-01 00:00:00","2024-02-01 00:00:00")')],
  ['tstzrange', rangeKind('["2024-01-01 00:00:00+00","2024-02-01 00:00:00+00")')],
  ['daterange', rangeKind('[2024-01-01,2024-02-01)')],
  ['int4multirange', rangeKind('{[1,5)}')],
  ['int8multirange', rangeKind('{[1,5)}')],
  ['nummultirange', rangeKind('{[1.5,2.5)}')],
  ['tsmultirange', rangeKind('{["2024-01-01 00:00:00","2024-02-01 00:00:00")}')],
  ['tstzmultirange', rangeKind('{["2024-01-01 00:00:00+00","2024-02-01 00:00:00+00")}')],
  ['datemultirange', rangeKind('{[2024-01-01,2024-02-01)}')],
  ['cube', numbersKind],
  ['ltree', opaqueKind('ltree', 'Top.Science')],
  ['bytea', 'binary'],
])
