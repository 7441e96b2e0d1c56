import type { ObjectLiteral } from 'typeorm'
import { builderSql, cachedStatement, compile, compileText, shiftPlaceholders } from '../connection/compile'
import { transientErrorOf } from '../connection/database-error'
import type { DbTransaction } from '../connection/db-session'
import { mapWithPauses, type PausableSession, pause } from '../connection/pauses'
import { execute, executeWrite, type RawRow, runInSavepoint, runUndoable, WriteError } from '../connection/statement'
import type { Statement } from '../connection/statement-cache'
import { tableSql } from '../dialect/table-sql'
import { buildRowReader, joinColumnValues, selection } from '../read/row'
import { readWrittenItems } from '../read/select'
import type { Store } from '../read/store'
import { buildReadColumn, type ReadColumn } from '../schema/stored-column'
import type { InsertTarget } from './insert-target'
import { type InsertValues, insertBuilder, insertedKey, insertValuesOf, returnedColumnsOf } from './insert-values'
import { keyAfter, keyIncrementOf } from './key-increment'
import { equalSql, runSql } from './plain-sql'
import { returning } from './returning'
import { executeInsert, insertIdOf } from './values'

/**
 * Maximum number of values of one INSERT. With a server, each statement takes a round trip. On SQLite, larger statements are
 * not kept prepared (`dialect/prepared-statements.ts`).
 */
const maxInsertedValues = 1024

/** A row that the database has rejected, by the index of its record. */
export interface RejectedRow {
  readonly index: number
  readonly error: WriteError
}

/** Thrown if the database rejects some of several rows. Their transaction must be rolled back. */
export class RejectedRowsError extends Error {
  override readonly name = 'RejectedRowsError'
  constructor(readonly rows: readonly RejectedRow[]) {
    super('the database has rejected some of the rows')
  }
}

/**
 * Inserts several records, in order, with as few statements as possible.
 * @param maxRejected number of rejected rows after which the other rows are not checked
 * @returns the stored rows, in the order of the entities
 * @throws {RejectedRowsError} if the database rejects rows
 * @throws the driver's error if it is transient
 */
export async function executeInserts(
  session: DbTransaction,
  store: Store,
  entities: readonly ObjectLiteral[],
  maxRejected: number,
): Promise<readonly RawRow[]> {
  const rows = await mapWithPauses(session, entities, (entity) => insertValuesOf(store, entity))
  const stored = await withoutRejection(store, () => runUndoable(session, (inner) => insertChunks(inner, store, rows)))
  return stored instanceof WriteError ? insertOneByOne(session, store, rows, maxRejected) : stored
}

async function insertChunks(
  session: DbTransaction,
  store: Store,
  rows: readonly InsertValues[],
): Promise<readonly RawRow[]> {
  const stored: RawRow[] = []
  const templates = new RowTemplates(store)
  for (let start = 0; start < rows.length; ) {
    const chunk = rows.slice(start, start + sizeOfNext(rows, start))
    const inserted = await insertChunk(session, store, chunk, templates)
    stored.push(...inserted)
    start += chunk.length
    await pause(session)
  }
  return stored
}

/** Inserts each row by a statement of its own, which tells which rows the database rejects. */
async function insertOneByOne(
  session: DbTransaction,
  store: Store,
  rows: readonly InsertValues[],
  maxRejected: number,
): Promise<readonly RawRow[]> {
  const stored: RawRow[] = []
  const rejected: RejectedRow[] = []
  for (const [index, { entity }] of rows.entries()) {
    const result = await withoutRejection(store, () =>
      runInSavepoint(session, (inner) => executeInsert(inner, store, entity)),
    )
    if (!(result instanceof WriteError)) stored.push(result)
    else if (rejected.push({ index, error: result }) >= maxRejected) break
    await pause(session)
  }
  if (rejected.length > 0) throw new RejectedRowsError(rejected)
  return stored
}

/** @returns the error if the database rejects an INSERT */
async function withoutRejection<T>({ dataSource }: Store, insert: () => Promise<T>): Promise<T | WriteError> {
  try {
    return await insert()
  } catch (error) {
    if (!(error instanceof WriteError)) throw error
    if (transientErrorOf(error.cause, dataSource) !== undefined) throw error.cause
    return error
  }
}

/** The number of rows of the next INSERT: a power of two, so that few different statements are compiled and cached. */
function sizeOfNext(rows: readonly InsertValues[], start: number): number {
  const values = Math.max(1, rows[start]?.values.length ?? 0)
  const maxRows = Math.min(rows.length - start, Math.max(1, Math.floor(maxInsertedValues / values)))
  return 2 ** Math.floor(Math.log2(maxRows))
}

/** Inserts rows, with one statement if possible. */
async function insertChunk(
  session: DbTransaction,
  store: Store,
  rows: readonly InsertValues[],
  templates: RowTemplates,
): Promise<readonly RawRow[]> {
  const tail = returning(store.dataSource, returnedColumnsOf(store))
  const statement = rows.length === 1 ? undefined : await statementOf(session, templates, rows, tail)
  if (statement === undefined) {
    const stored: RawRow[] = []
    for (const { entity } of rows) {
      stored.push(await executeInsert(session, store, entity))
      await pause(session)
    }
    return stored
  }
  const { records, raw } = await executeWrite(session, statement, valuesOf(rows))
  return readStored(session, store, rows, records, insertIdOf(raw))
}

/**
 * Inserts entities in order, with as few statements as possible, and reads some of their columns. Their listeners are not called.
 * @param returned columns to read. Default: none
 * @returns the stored rows with these columns, in the order of the entities
 */
export async function insertReturning(
  session: DbTransaction,
  target: InsertTarget,
  entities: readonly ObjectLiteral[],
  returned: readonly ReadColumn[] = [],
): Promise<readonly RawRow[]> {
  const { dataSource, dialect } = target
  const rows = await mapWithPauses(session, entities, (entity) => insertValuesOf(target, entity))
  const canReturn = returned.length === 0 || dialect.supportsReturning(dataSource, 'insert')
  const tail = canReturn ? returning(dataSource, returned) : ''
  const templates = new RowTemplates(target)
  const stored: RawRow[] = []
  const insert = async (chunk: readonly InsertValues[], statement: Statement): Promise<void> => {
    const { records, raw } = await execute(session, statement, valuesOf(chunk))
    stored.push(...(canReturn ? records : await readInserted(session, target, chunk, returned, insertIdOf(raw))))
  }
  for (let start = 0; start < rows.length; ) {
    const chunk = rows.slice(start, start + (canReturn ? sizeOfNext(rows, start) : 1))
    const statement = await statementOf(session, templates, chunk, tail)
    if (statement !== undefined) await insert(chunk, statement)
    else {
      for (const row of chunk) {
        await insert([row], compile(dataSource, insertBuilder(target, [row.toSet()]), row.values.length, tail))
      }
    }
    start += chunk.length
    await pause(session)
  }
  return stored
}

/** Reads columns of one inserted row by its key. @param insertId key that the driver reports */
function readInserted(
  session: DbTransaction,
  { dataSource, view: { metadata } }: InsertTarget,
  [row]: readonly InsertValues[],
  columns: readonly ReadColumn[],
  insertId: unknown,
): Promise<readonly RawRow[]> {
  const key = metadata.primaryColumns.map((column) => buildReadColumn(column, dataSource))
  const values = insertedKey(dataSource, key, row?.entity ?? {}, insertId)
  const names = selection(dataSource, columns).map(([column, name]) => `${column} AS ${dataSource.driver.escape(name)}`)
  return runSql(
    session,
    (bind) =>
      `SELECT ${names.join(', ')} FROM ${tableSql(dataSource, metadata)} WHERE ${equalSql(dataSource, key, values, bind)}`,
  )
}

function valuesOf(rows: readonly InsertValues[]): readonly unknown[] {
  const values: unknown[] = []
  for (const row of rows) values.push(...row.values)
  return values
}

/**
 * The statement that inserts rows. @param tail the clause RETURNING, if there is one
 * @returns undefined if the rows cannot be inserted by one statement
 */
async function statementOf(
  session: DbTransaction,
  templates: RowTemplates,
  rows: readonly InsertValues[],
  tail = '',
): Promise<Statement | undefined> {
  if (rows.some(({ shape }) => shape === undefined)) return undefined
  const [first] = rows
  const isUniform = rows.every(({ shape }) => shape === first?.shape)
  const { cacheKey } = templates.target.view
  if (!isUniform) await templates.compileAll(session, rows)
  const statement = cachedStatement(
    session,
    isUniform ? `INSERT ${rows.length} ${cacheKey}${first?.shape}` : undefined,
    () => compileRows(templates, rows, tail),
  )
  return statement.sql === '' ? undefined : statement
}

/** The SQL of one row of an INSERT, as TypeORM writes it for the rows of one shape. */
interface RowTemplate {
  /** The SQL before VALUES of the first row. */
  readonly head: string
  /** The list of values. */
  readonly row: string
  /** Values of the parameters that the query builder has set. */
  readonly parameters: ObjectLiteral
}

/**
 * The templates of the rows of one request, by shape. Compiling one takes up to a few milliseconds if the table has many
 * columns, and each record can have other fields. So other requests run meanwhile.
 */
class RowTemplates {
  readonly #templates = new Map<string | undefined, RowTemplate | undefined>()

  constructor(readonly target: InsertTarget) {}

  /** @param client whose request it is */
  async compileAll(session: PausableSession, rows: readonly InsertValues[]): Promise<void> {
    for (const row of rows) {
      this.of(row)
      await pause(session)
    }
  }

  /** @returns undefined if TypeORM writes the row without a list of values, as `DEFAULT VALUES` */
  of(row: InsertValues): RowTemplate | undefined {
    const { shape } = row
    if (!this.#templates.has(shape)) this.#templates.set(shape, compileTemplate(this.target, row))
    return this.#templates.get(shape)
  }
}

function compileTemplate(target: InsertTarget, { toSet }: InsertValues): RowTemplate | undefined {
  const one = builderSql(insertBuilder(target, [toSet()]))
  const two = insertBuilder(target, [toSet(), toSet()])
  const added = builderSql(two).slice(one.length)
  if (!added.startsWith(', (')) return undefined
  const row = added.slice(', '.length)
  return { head: one.slice(0, -row.length), row, parameters: two.getParameters() }
}

/**
 * Compiles an INSERT of several rows. TypeORM writes the SQL of one row. The SQL of other rows with the same columns differs
 * only in the placeholders. TypeORM's query builder would take 20 times as long for 100 rows.
 * @returns a statement without SQL if TypeORM writes a row without a list of values
 */
function compileRows(templates: RowTemplates, rows: readonly InsertValues[], tail: string): Statement {
  const used = new Set<RowTemplate>()
  let text = ''
  let count = 0
  for (const row of rows) {
    const template = templates.of(row)
    if (template === undefined) return { sql: '', sources: [] }
    used.add(template)
    text += `${text === '' ? template.head : ', '}${shiftPlaceholders(template.row, count)}`
    count += row.values.length
  }
  const parameters: ObjectLiteral = Object.assign({}, ...[...used].map((template) => template.parameters))
  return compileText(templates.target.dataSource, text, parameters, count, tail)
}

/**
 * The stored rows of an INSERT. SQLite, PostgreSQL and MariaDB return rows in the order of VALUES. Without RETURNING, the
 * generated keys of one statement follow each other, at a distance that the server may set.
 */
async function readStored(
  session: DbTransaction,
  store: Store,
  rows: readonly InsertValues[],
  returned: readonly RawRow[],
  firstKey: unknown,
): Promise<readonly RawRow[]> {
  const { view, dataSource } = store
  const returnedColumns = returnedColumnsOf(store)
  if (returnedColumns === view.columns) return returned
  const readKey = returnedColumns.length === 0 ? undefined : buildRowReader(returnedColumns, dataSource)
  const increment = readKey === undefined ? await keyIncrementOf(session) : 1
  const keys = rows.map(({ entity }, index) => {
    const row = returned[index]
    const values =
      readKey !== undefined && row !== undefined
        ? readKey(row)
        : insertedKey(dataSource, view.key.columns, entity, keyAfter(firstKey, index * increment))
    return joinColumnValues(values)
  })
  const stored = await readWrittenItems(session, store, keys)
  return stored.map((row) => {
    if (row === undefined) throw new Error(`INSERT into ${view.metadata.tableName} returned too few rows`)
    return row
  })
}
