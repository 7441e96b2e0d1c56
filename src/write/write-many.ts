import type { ObjectLiteral, QueryBuilder } from 'typeorm'
import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbTransaction } from '../connection/db-session'
import { executeWrite } from '../connection/statement'
import { padList } from '../dialect/in-list'
import type { ListQuery } from '../query/query'
import { bindConditionValues } from '../read/condition-sql'
import type { ColumnValue } from '../read/entity'
import { columnSql } from '../read/row'
import type { RowLock } from '../read/row-lock'
import { lockedKeysQuery } from '../read/select'
import type { Store } from '../read/store'
import { bindTargets, whereTargets } from './target-condition'
import { toValueSet } from './value-set'
import { deleteBuilder, updateBuilder } from './values'
import type { WriteTargets } from './write-store'

/** Maximum number of records of one statement. */
const maxKeys = 512

/** Updates several records to the same values. */
export async function executeUpdates(
  session: DbTransaction,
  store: Store,
  targets: WriteTargets,
  changed: readonly ColumnValue[],
): Promise<void> {
  const { view, dataSource } = store
  for (const keys of chunksOf(targets.keys)) {
    const { values, bind } = collectValues()
    const { toSet, shape } = toValueSet(store, changed, bind, 'update')
    const placeholders = bindTargets(store, { ...targets, keys }, bind)
    const cacheKey = shape === undefined ? undefined : `UPDATE ${keys.length} ${view.cacheKey}${shape}`
    const statement = cachedStatement(session, cacheKey, () => {
      const builder = updateBuilder(store, toSet, changed).where(whereTargets(store, placeholders))
      return compile(dataSource, builder, values.length)
    })
    await executeWrite(session, statement, values)
  }
}

/**
 * Updates the records that match a list query, by one statement. The statement evaluates the query once.
 * @param query its `limit` is the maximum number of records
 * @returns the number of records
 */
export async function executeMatchingUpdate(
  session: DbTransaction,
  store: Store,
  query: ListQuery,
  changed: readonly ColumnValue[],
): Promise<number> {
  const { view, dataSource } = store
  const { values, bind } = collectValues()
  // Bound first, because `conditionSql` numbers its placeholders from 0.
  const conditionKey = bindConditionValues(store, query, bind)
  const { toSet, shape } = toValueSet(store, changed, bind, 'update')
  const cacheKey =
    shape === undefined ? undefined : `UPDATE ${view.cacheKey} ${query.limit} ${query.cacheKey} ${conditionKey}${shape}`
  const statement = cachedStatement(session, cacheKey, () =>
    compile(dataSource, whereMatching(updateBuilder(store, toSet, changed), store, query, 'update'), values.length),
  )
  return (await executeWrite(session, statement, values)).affected ?? 0
}

/** Deletes the records that match a list query, by one statement, like {@link executeMatchingUpdate}. */
export async function executeMatchingDelete(session: DbTransaction, store: Store, query: ListQuery): Promise<number> {
  const { view, dataSource } = store
  const { values, bind } = collectValues()
  const conditionKey = bindConditionValues(store, query, bind)
  const cacheKey = `DELETE ${view.cacheKey} ${query.limit} ${query.cacheKey} ${conditionKey}`
  const statement = cachedStatement(session, cacheKey, () =>
    compile(dataSource, whereMatching(deleteBuilder(store), store, query, 'delete'), values.length),
  )
  return (await executeWrite(session, statement, values)).affected ?? 0
}

/** Adds the condition that a record matches a query. The rows are locked, so that the condition still holds. */
function whereMatching<Builder extends QueryBuilder<ObjectLiteral> & { where: (sql: string) => unknown }>(
  builder: Builder,
  store: Store,
  query: ListQuery,
  lock: RowLock,
): Builder {
  const { view, dataSource } = store
  const keys = lockedKeysQuery(store, query, lock)
  const columns = view.key.columns.map((column) => columnSql(dataSource, column))
  builder.where(`(${columns.join(', ')}) IN (${keys.getQuery()})`)
  builder.setParameters(keys.getParameters())
  return builder
}

/** Deletes several records, softly if their entity has a `@DeleteDateColumn`. */
export async function executeDeletes(session: DbTransaction, store: Store, targets: WriteTargets): Promise<void> {
  const { view, dataSource } = store
  for (const keys of chunksOf(targets.keys)) {
    const { values, bind } = collectValues()
    const placeholders = bindTargets(store, { ...targets, keys }, bind)
    const statement = cachedStatement(session, `DELETE ${keys.length} ${view.cacheKey}`, () =>
      compile(dataSource, deleteBuilder(store).where(whereTargets(store, placeholders)), values.length),
    )
    await executeWrite(session, statement, values)
  }
}

/** Lists of keys for one statement each, of few different lengths. */
function chunksOf(keys: readonly unknown[]): readonly (readonly unknown[])[] {
  const chunks: (readonly unknown[])[] = []
  for (let start = 0; start < keys.length; start += maxKeys) chunks.push(padList(keys.slice(start, start + maxKeys)))
  return chunks
}
