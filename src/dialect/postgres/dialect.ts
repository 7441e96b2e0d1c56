import { isComputed, type ReadColumn } from '../../schema/stored-column'
import { checkedColumns, uniqueColumns } from '../constraint'
import type { Dialect } from '../dialect'
import { inList, inRows } from '../in-list'
import { cancelStatement } from './cancel'
import { isOfName, type PoolClient, type Pools } from './connection'
import { isHstoreObject, readHstore } from './hstore'
import { buildInstantReader, isInstant } from './instants'
import { arrayTypes, parsedReader, parsedType } from './parsed'
import { preparePools } from './pools'

/** Types that are read as PostgreSQL writes them: its driver makes objects of them, and a local time of a date. */
const readAsText: ReadonlySet<string> = new Set(['date', 'interval', 'point', 'circle'])
/** Whether the default collation knows the case of letters beyond ASCII. */
const caseQuestion = `SELECT lower('É') = 'é' AS "folds"`
/** Types whose length in bytes can be asked for. */
const hasLength: ReadonlySet<string> = new Set([
  ...['text', 'varchar', 'character varying', 'char', 'character', 'bytea', 'simple-json', 'simple-array'],
])

/** Of a `tsquery` of too many operators PostgreSQL says that the fault is its own. */
const tsqueryStack = 'pushOpStack'

const driversOwn =
  /connection terminated|connection ended|timeout exceeded when trying to connect|query read timeout|connection error|not queryable|calling end on the pool|client was closed/i

export const postgres: Dialect = {
  equalsAny: (column, _, values) => inList(column, values),
  equalsAnyRow: (columns, _, rows) => inRows(columns, rows),
  // A date has no time, unless it is computed.
  truncated: (stored, column, digits) => {
    const { type } = stored.valueColumn
    if (type === 'date') return isComputed(stored.column) ? `CAST(${column} AS date)` : column
    return `date_trunc('${digits === 'shown' ? 'second' : digits}', ${column})`
  },
  // As text: LIKE on `citext` would ignore the case.
  matches: (column, pattern, ignoreCase, bind) => `${column}::text ${ignoreCase ? 'ILIKE' : 'LIKE'} ${bind(pattern)}`,
  equalsText: (one, other) => `${one} = ${other}`,
  bound: (_, stored) => stored,
  written: (_, stored) => stored,
  compared: (_, column) => column,
  // A parameter has the type of what it is compared with.
  operand: (_, placeholder) => placeholder,
  // The driver leaves out the seconds of an offset, which zones had before they had time zones.
  parameter: (value) => {
    if (Array.isArray(value)) return value.map(postgres.parameter)
    return value instanceof Date ? localText(value) : value
  },
  read: (stored, column) => {
    const spelled = spell(stored, column)
    return parsedType(stored) === undefined ? spelled : `${spelled}::text`
  },
  // Of text and bytes it is told without decompressing the value. The sum of several may be more than an integer holds.
  bytes: ({ valueColumn: { type, isArray } }, column) =>
    `octet_length(${hasLength.has(String(type)) && !isArray ? column : `${column}::text`})::float8`,
  readBack: (stored, dataSource) => {
    if (isHstoreObject(stored)) return readHstore
    const parsed = parsedType(stored)
    if (parsed !== undefined) return parsedReader(parsed, dataSource)
    return isInstant(stored) ? buildInstantReader(stored, dataSource).read : undefined
  },
  shown: (stored, dataSource) => (isInstant(stored) ? buildInstantReader(stored, dataSource).shown : undefined),
  // Its own spelling of a value is exact, and a parameter is read as what it is compared with: what it cannot read it refuses.
  cursorSql: (_, column) => ({
    read: `${column}::text`,
    sorted: column,
    compared: column,
    bound: (placeholder) => placeholder,
    accepts: (value) => typeof value === 'string',
  }),
  areNullsLeast: false,
  knowsNullsOrder: true,
  sharesConnection: false,
  lockTable: (table) => `LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`,
  concatenate: (first, second) => `${first} || ${second}`,
  isTextLoose: false,
  indexesReferences: false,
  spellsDefaults: false,
  hasOnUpdate: false,
  returning: () => true,
  dangersOf: async (options, ask) => {
    const { query_timeout } = Object('extra' in options && options.extra) as { readonly query_timeout?: unknown }
    const [setting] = await ask('SHOW statement_timeout')
    const [collation] = await ask(caseQuestion)
    return [
      ...(query_timeout
        ? ['query_timeout gives up writes that PostgreSQL may still commit: set statement_timeout instead']
        : []),
      ...(setting?.['statement_timeout'] === '0'
        ? ["no statement_timeout is set: a statement of the application's own may hold its connection for ever"]
        : []),
      ...(collation?.['folds'] === false
        ? ["the database's collation is C: ilike ignores the case of ASCII letters only"]
        : []),
    ]
  },
  prepareConnections: (driver, timeLimit) => preparePools(driver as Pools, timeLimit),
  whileInTime: () => undefined,
  cancel: (_, connection) => cancelStatement(connection as PoolClient),
  prepareRunner: () => undefined,
  discard: (connection) => void (connection as PoolClient).end().catch(() => undefined),
  // Data exceptions quote the value.
  withoutValues: ({ code = '', message }) => (code.startsWith('22') ? message.replace(/".*"/s, '"…"') : message),
  // Deadlock, serialization failure; no connection, no resources, operator's intervention, locks not had, a server that only
  // reads; what the driver says without a code.
  transientErrorOf: ({ code = '', message }) => {
    if (code === '40P01' || code === '40001' || isOfName({ code, message })) return 'again'
    if (code === '57014') return 'timeout'
    const isUnavailable = /^(08...|53...|57P0.|55P03|25P0[34]|25006)$/.test(code)
    return isUnavailable || (code === '' && driversOwn.test(message)) ? 'unavailable' : undefined
  },
  violationOf: ({ code = '', column, constraint, message, detail = '', position, routine }, metadata) => {
    if (code === '23503' || code === '23001') return { kind: 'reference', columns: keyColumns(detail) }
    if (code === '23505' || code === '23P01') {
      const named = uniqueColumns(metadata, constraint)
      return { kind: 'unique', columns: named.length > 0 ? named : keyColumns(detail) }
    }
    if (code === '23502') return { kind: 'value', columns: column === undefined ? [] : [column] }
    if (code === '23514') return { kind: 'value', columns: checkedColumns(metadata, constraint) }
    // A syntax error at no place of the statement is one in a value, as an `ltree` or `tsquery`.
    const isSyntax = code === '42601' && position === undefined
    // Values too large for an index, too deep, too long, or of what PostgreSQL has not built.
    const isTooMuch = code.startsWith('54') || code === '42622' || code === '0A000' || routine === tsqueryStack
    if (code.startsWith('22') || isSyntax || isTooMuch)
      return { kind: 'value', columns: [], isAbout: aboutOf(message, detail) }
    // Views with a check option, and what triggers raise.
    return /^44|^P0001$/.test(code) ? { kind: 'value', columns: [] } : undefined
  },
}

/** A column in the spelling that loses nothing. */
function spell(stored: ReadColumn, column: string): string {
  const { type, isArray, transformer } = stored.valueColumn
  if (transformer !== undefined) return column
  if (type === 'money') return isArray ? `${column}::numeric[]::text[]` : `${column}::numeric::text`
  if (isArray) return typeof type === 'function' || arrayTypes.has(type) ? column : `${column}::text[]`
  return readAsText.has(String(type)) || isInstant(stored) ? `${column}::text` : column
}

/** A data exception names no column, but the value, the length or the power of ten that is too much. */
function aboutOf(message: string, detail: string): (value: unknown) => boolean {
  const [, length] = /^value too long for type .*\((\d+)\)$/.exec(message) ?? []
  const [, power] = /less than 10\^(\d+)/.exec(detail) ?? []
  const [, text] = /"(.*)"/s.exec(message) ?? []
  return (value) => {
    if (length !== undefined) return typeof value === 'string' && [...value].length > Number(length)
    if (power !== undefined) return Math.abs(Number(value)) >= 10 ** Number(power)
    return String(value) === text
  }
}

/** The local time, which a column without time zone takes, with its offset, which one with time zone takes. */
function localText(instant: Date): string {
  const behind = offsetOf(instant)
  const local = new Date(instant.getTime() - behind)
  const offset = behind === 0 ? '00:00:00' : new Date(Math.abs(behind)).toISOString().slice(11, 19)
  const text = local.toISOString().replace(/^\+0*/, '').replace('Z', '')
  const withOffset = `${text}${behind > 0 ? '-' : '+'}${offset}`
  // Where the year 1 begins in UTC, it is the year before still in the west, which PostgreSQL calls 1 BC.
  return text.startsWith('0000') ? `${withOffset.replace('0000', '0001')} BC` : withOffset
}

/** Milliseconds that local time is behind UTC. */
function offsetOf(instant: Date): number {
  const local = new Date(0)
  local.setUTCFullYear(instant.getFullYear(), instant.getMonth(), instant.getDate())
  local.setUTCHours(instant.getHours(), instant.getMinutes(), instant.getSeconds(), instant.getMilliseconds())
  return instant.getTime() - local.getTime()
}

/** `Key (username)=(ann) already exists.`, in whatever language. */
function keyColumns(detail: string): readonly string[] {
  const [, list = ''] = /\(([^()]+)\)=/.exec(detail) ?? []
  return list === '' ? [] : list.split(', ').map((name) => name.replace(/^"|"$/g, ''))
}
