import type { RawRow } from '../connection/statement'
import { ApiError } from '../errors'
import {
  type Aggregate,
  type AggregateQuery,
  type FieldAggregate,
  type GroupKey,
  isFloat,
  isInteger,
} from '../query/aggregate-query'
import { type FieldRef, rootAlias } from '../query/query'
import type { StoredColumn } from '../schema/stored-column'
import { floatType, integerRange, integerType } from '../value/number'
import type { Json } from '../value/value-type'
import { conditionSql, timeLimitAt } from './condition-sql'
import { columnRenderer } from './json-value'
import { columnSql } from './row'
import { matchingQuery } from './select-query'
import type { Store } from './store'

/** Member of a group: its SQL, and how its value is rendered. */
interface Member {
  readonly name: string
  /** Expression that is compared and sorted. */
  readonly sql: string
  /** Expression in SELECT. */
  readonly read: string
  readonly toJson: (raw: unknown) => Json
}

/** The member of a group key. */
function keyMember(store: Store, { name, on, part }: GroupKey): Member {
  const { dialect, dataSource } = store
  const [stored, column] = storedColumn(store, on)
  if (part !== undefined) {
    const { key, read } = dialect.periodSql(stored, column, part)
    return { name, sql: key, read, toJson: (raw) => (raw === null ? null : String(raw)) }
  }
  const { key, read } = dialect.groupSql(stored, column)
  const isShortened = stored.valueType.name === 'text'
  return {
    name,
    sql: key,
    read: isShortened ? read : dialect.selectSql(stored, read),
    toJson: columnRenderer(stored, on.field, dataSource),
  }
}

const toCount = (raw: unknown): Json => integerType(integerRange(64)).toJson(raw)

/** @throws {ApiError} `bad-query` for infinity, the result of SQLite if a sum exceeds a double */
function toFloat(raw: unknown): Json {
  if (raw === null) return null
  if (!Number.isFinite(Number(raw))) throw new ApiError('bad-query', sumOutOfRange)
  return floatType.toJson(raw)
}

/** Message for sums that a database cannot represent. */
export const sumOutOfRange = 'a sum is outside the range of the database, or it cannot read the value of a filter'

/** The member of an aggregate. */
export function aggregateMember(store: Store, aggregate: Aggregate): Member {
  const { dialect, dataSource } = store
  if (aggregate.function === 'count') return { name: 'count', sql: 'COUNT(*)', read: 'COUNT(*)', toJson: toCount }
  const { name, on } = aggregate
  const [stored, column] = storedColumn(store, on)
  if (aggregate.function === 'count_distinct') {
    const sql = `COUNT(DISTINCT ${dialect.groupSql(stored, column).key})`
    return { name, sql, read: sql, toJson: toCount }
  }
  if (aggregate.function === 'min' || aggregate.function === 'max') {
    const sqlOf = (value: string): string => `${aggregate.function.toUpperCase()}(${value})`
    return {
      name,
      sql: sqlOf(dialect.comparisonSql(stored, column)),
      read: dialect.selectSql(stored, sqlOf(column)),
      toJson: columnRenderer(stored, on.field, dataSource),
    }
  }
  if (isFloat(aggregate)) {
    const sql = floatSql(store, aggregate, stored, column)
    return { name, sql, read: sql, toJson: toFloat }
  }
  const { sum, shift } = dialect.exactSumSql(stored, column) ?? noSum
  const toJson = (raw: unknown): Json => {
    if (raw === null) return null
    return isInteger(aggregate) ? toCount(raw) : insertPoint(String(raw), shift)
  }
  return { name, sql: sum, read: dialect.numberTextSql(sum), toJson }
}

const noSum = { sum: 'NULL', shift: 0 } as const

/** SQL of an average, or of a sum of floats. The average is an exact sum, divided as a double. */
function floatSql({ dialect }: Store, aggregate: FieldAggregate, stored: StoredColumn, column: string): string {
  const { sum, shift } =
    stored.valueType.name === 'float'
      ? // The conversion of the sum fails on MySQL and MariaDB if it exceeds a double.
        { sum: dialect.doubleSql(`SUM(${dialect.doubleSql(column)})`), shift: 0 }
      : (dialect.exactSumSql(stored, column) ?? noSum)
  if (aggregate.function === 'sum') return sum
  return `${dialect.doubleSql(sum)} / ${shift === 0 ? '' : `1e${shift} / `}COUNT(${column})`
}

/** The column of a field, and the SQL that reads it. */
export function storedColumn({ dataSource }: Store, { alias, field }: FieldRef): readonly [StoredColumn, string] {
  const [stored] = field.columns
  if (stored === undefined) throw new TypeError('a field must have at least one column')
  return [stored, columnSql(dataSource, stored, alias)]
}

/** Inserts a decimal point before the last `places` digits. */
function insertPoint(text: string, places: number): string {
  if (places === 0) return text
  const digits = text.replace('-', '').padStart(places + 1, '0')
  return `${text.startsWith('-') ? '-' : ''}${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** Members of the groups of a query, in the order of SELECT: the keys, then the aggregates. */
function membersOf(store: Store, { groups, aggregates }: AggregateQuery): readonly Member[] {
  return [
    ...groups.map((group) => keyMember(store, group)),
    ...aggregates.map((aggregate) => aggregateMember(store, aggregate)),
  ]
}

/** Builds a function that renders a row of {@link aggregateQuery} as a JSON object with the names of the request. */
export function groupRenderer(store: Store, query: AggregateQuery): (raw: RawRow) => Readonly<Record<string, Json>> {
  const members = membersOf(store, query)
  return (raw) => Object.fromEntries(members.map(({ name, toJson }, index) => [name, toJson(raw[index] ?? null)]))
}

/** Builds the SELECT of a query for groups, without LIMIT and OFFSET. @param having SQL of its filters on groups */
export function aggregateQuery(store: Store, query: AggregateQuery, having: readonly string[]) {
  const builder = matchingQuery(store, query, conditionSql(store, query))
  // Functions may read a long value of each record.
  const timeLimitSql = timeLimitAt(store, rootAlias, query.view.key.columns)
  if (timeLimitSql !== undefined) builder.andWhere(timeLimitSql)
  for (const [index, { read }] of membersOf(store, query).entries()) builder.addSelect(read, String(index))
  for (const group of query.groups) builder.addGroupBy(keyMember(store, group).sql)
  for (const condition of having) builder.andHaving(condition)
  const sorted = new Set<string>()
  for (const { by, descending } of query.groupOrdering) {
    const { sql } = by.function === undefined ? keyMember(store, by) : aggregateMember(store, by)
    // Two names may have the same SQL, of which TypeORM would keep the last direction.
    if (sorted.has(sql)) continue
    sorted.add(sql)
    const placement = descending ? 'NULLS LAST' : 'NULLS FIRST'
    builder.addOrderBy(sql, descending ? 'DESC' : 'ASC', store.dialect.areNullsLeast ? undefined : placement)
  }
  return builder
}
