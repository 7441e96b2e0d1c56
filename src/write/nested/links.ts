import type { DataSource } from 'typeorm'
import { type Bind, cachedStatement, collectValues, compileText } from '../../connection/compile'
import type { DbTransaction } from '../../connection/db-session'
import { executeWrite } from '../../connection/statement'
import { dialectOf } from '../../dialect/dialect-of'
import { tableSql } from '../../dialect/table-sql'
import { maxKeyValues } from '../../read/included-statements'
import { columnSql, splitColumnValues, toBindParameter } from '../../read/row'
import type { Store } from '../../read/store'
import type { Field } from '../../schema/field'
import type { Junction } from '../../schema/resource-view'
import type { StoredColumn } from '../../schema/stored-column'
import { equalsAnyKey } from '../key-predicate'

/** One side of a row in a junction table: the columns, and the key that they refer to. */
interface Side {
  readonly columns: readonly StoredColumn[]
  readonly key: Field
}

/** Rows of a junction table, by the keys of the records that they link. */
export interface Links {
  readonly junction: Junction
  /** Store of the records of this side. */
  readonly store: Store
  /** Store of the related records. */
  readonly related: Store
}

/** Pair of keys: of a record of this side, and of a related record. */
export type Link = readonly [own: unknown, related: unknown]

/** Maximum number of rows that one statement inserts. */
const maxRows = 256

/**
 * Inserts rows into a junction table. The numbers of rows of the statements are powers of two, so that there are few
 * different statements.
 * @throws {WriteError}
 */
export async function insertLinks(session: DbTransaction, links: Links, rows: readonly Link[]): Promise<void> {
  const { own, related } = sidesOf(links)
  const columns = [...own.columns, ...related.columns]
  let start = 0
  for (let size = maxRows; size >= 1; size /= 2) {
    for (; rows.length - start >= size && size * columns.length <= maxKeyValues; start += size) {
      await insertRows(
        session,
        links.junction,
        columns,
        rows
          .slice(start, start + size)
          .map(([ownKey, relatedKey]) => [
            ...splitColumnValues(own.key, ownKey),
            ...splitColumnValues(related.key, relatedKey),
          ]),
      )
    }
  }
}

async function insertRows(
  session: DbTransaction,
  { metadata }: Junction,
  columns: readonly StoredColumn[],
  rows: readonly (readonly unknown[])[],
): Promise<void> {
  const { dataSource } = session
  const { toStoredValue, assignmentSql } = dialectOf(dataSource)
  const { values, bind } = collectValues()
  const tuples = rows.map((row) => {
    const stored = columns.map(({ column, valueColumn }, index) =>
      assignmentSql(
        column,
        bind(toStoredValue(column, dataSource.driver.preparePersistentValue(row[index], valueColumn))),
      ),
    )
    return `(${stored.join(', ')})`
  })
  const table = tableSql(dataSource, metadata)
  const names = columns.map((column) => columnSql(dataSource, column))
  // The other side of the relation has the columns in another order.
  const statement = cachedStatement(session, `INSERT ${table} ${names} ${rows.length}`, () => {
    return compileText(
      dataSource,
      `INSERT INTO ${table} (${names.join(', ')}) VALUES ${tuples.join(', ')}`,
      {},
      values.length,
    )
  })
  await executeWrite(session, statement, values)
  reportLinks(session, metadata)
}

/** Reports that rows of a junction table have changed: live lists may depend on them. */
function reportLinks({ observer, runner }: DbTransaction, { tablePath }: Junction['metadata']): void {
  observer.recordTable(runner, { table: tablePath, ids: undefined, isDeletion: false })
}

/** Deletes the rows of a junction table that link a record with some related records. @throws {WriteError} */
export async function deleteLinks(
  session: DbTransaction,
  links: Links,
  ownKey: unknown,
  relatedKeys: readonly unknown[],
): Promise<void> {
  if (relatedKeys.length === 0) return
  const { own, related } = sidesOf(links)
  const length = Math.floor(maxKeyValues / related.columns.length)
  for (let start = 0; start < relatedKeys.length; start += length) {
    const { dataSource } = session
    const { values, bind } = collectValues()
    const conditions = [
      hasAnyKey(dataSource, own, [ownKey], bind),
      hasAnyKey(dataSource, related, relatedKeys.slice(start, start + length), bind),
    ]
    const text = `DELETE FROM ${tableSql(dataSource, links.junction.metadata)} WHERE ${conditions.join(' AND ')}`
    await executeWrite(session, compileText(dataSource, text, {}, values.length), values)
  }
  reportLinks(session, links.junction.metadata)
}

function sidesOf({ junction, store, related }: Links): { readonly own: Side; readonly related: Side } {
  return {
    own: { columns: junction.own, key: store.view.key },
    related: { columns: junction.related, key: related.view.key },
  }
}

/** Predicate that the columns of a side have one of some keys. */
function hasAnyKey(dataSource: DataSource, { columns, key }: Side, keys: readonly unknown[], bind: Bind): string {
  const dialect = dialectOf(dataSource)
  const rows = keys.map((value) =>
    splitColumnValues(key, value).map((part, index) => {
      const column = columns[index] as StoredColumn
      return dialect.operandSql(column, bind(toBindParameter(dataSource, column, part)))
    }),
  )
  const names = columns.map((column) => columnSql(dataSource, column))
  return equalsAnyKey(dialect, columns, names, rows)
}
