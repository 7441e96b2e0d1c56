import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import type { IncludedList, Query } from '../query/query'
import { bindConditionValues, conditionSql } from './condition-sql'
import { type IncludedQuery, includedCountQuery, includedQuery, keyAlias, singleListQuery } from './included-sql'
import { type ValueLimit, widthOf } from './measure'
import type { Store } from './store'

/** The records whose lists are read: the values of their keys by texts that identify them. */
export type ParentKeys = ReadonlyMap<string, unknown>

/** Text that identifies a key among the rows of one data source. @param position of the first column of the key */
export function keyText(raw: RawRow, position: number, length: number): string {
  if (length === 1) return textOf(raw[position])
  const texts: string[] = []
  for (let index = position; index < position + length; index++) {
    const value = raw[index]
    const text = Buffer.isBuffer(value)
      ? value.toString('hex')
      : String(value instanceof Date ? value.getTime() : value)
    texts.push(`${text.length} ${text}`)
  }
  return texts.join()
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString('hex')
  return String(value instanceof Date ? value.getTime() : value)
}

/** Related record of a parent. */
export interface IncludedRow {
  /** {@link keyText} of the parent. */
  readonly parent: string
  readonly raw: RawRow
}

/**
 * Reads the related records of several parents with one statement: of each parent as many as `list.query.limit`.
 * @param store of the related records
 * @param parent store of the parents
 * @param maxRows of all parents
 */
export async function readIncluded(
  session: DbSession,
  store: Store,
  list: IncludedList,
  parent: Store,
  keys: ParentKeys,
  maxRows: number,
  valueLimit: ValueLimit,
): Promise<readonly IncludedRow[]> {
  const included = includedQueryOf(list, parent, keys, widthOf(store, list.query, valueLimit))
  const { query, keyPosition, parentKey } = included
  const { values, bind } = collectValues()
  const isSingle = keys.size === 1
  const condition = bindConditionValues(store, query, bind)
  const maxPosition = bind(list.query.limit)
  const tail = ` LIMIT ${isSingle ? maxPosition : bind(maxRows)}`
  const key = `include ${isSingle} ${parentOf(parent, list)} ${store.view.cacheKey} ${list.query.cacheKey} ${valueLimit} ${condition}`
  const statement = cachedStatement(session, key, () => {
    const conditions = conditionSql(store, query)
    const builder = isSingle
      ? singleListQuery(store, included, conditions, valueLimit)
      : includedQuery(store, included, conditions, valueLimit, maxPosition)
    return compile(store.dataSource, builder, values.length, tail)
  })
  const { records } = await execute(session, statement, values)
  return records.map((raw) => ({ parent: keyText(raw, keyPosition, parentKey.length), raw }))
}

/** Counts the related records of several parents with one statement. @returns the numbers by {@link keyText} */
export async function countIncluded(
  session: DbSession,
  store: Store,
  list: IncludedList,
  parent: Store,
  keys: ParentKeys,
): Promise<ReadonlyMap<string, number>> {
  const included = includedQueryOf(list, parent, keys, 0)
  const query: Query = { ...included.query, ordering: [], included: [] }
  const { values, bind } = collectValues()
  const condition = bindConditionValues(store, query, bind)
  const key = `include count ${parentOf(parent, list)} ${list.query.cacheKey} ${condition}`
  const statement = cachedStatement(session, key, () => {
    const builder = includedCountQuery(store, { ...included, query }, conditionSql(store, query))
    return compile(store.dataSource, builder, values.length)
  })
  const { records } = await execute(session, statement, values)
  const { length } = included.parentKey
  return new Map(records.map((raw) => [keyText(raw, 0, length), Number(raw[length])]))
}

const parentOf = ({ view }: Store, { relation }: IncludedList): string => `${view.name}.${relation.propertyPath}`

/** Adds the condition that the parent is one of those whose lists are read. */
function includedQueryOf(list: IncludedList, { view }: Store, keys: ParentKeys, keyPosition: number): IncludedQuery {
  const { where, values } = list.query
  const key = list.foreignKey ?? view.key
  const hasParent = {
    type: 'compare',
    on: { alias: keyAlias(list), field: key },
    operator: 'in',
    valuesIndex: values.length,
  } as const
  const query: Query = {
    ...list.query,
    where: { type: 'and', conditions: [hasParent, where] },
    values: [...values, [...keys.values()]],
  }
  return { list, query, parentKey: key.columns, keyPosition }
}
