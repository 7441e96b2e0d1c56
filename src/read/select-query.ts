import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { parameterPrefix } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import { type Join, type Query, rootAlias, type Some } from '../query/query'
import { mayHaveNull, sortedSql } from './keyset'
import { measuredSelection, type ValueLimit } from './measure'
import { columnSql, comparedSql } from './row'

/** The condition of a plan as SQL, and the constants in it. */
export interface WrittenCondition {
  /** Empty for none. */
  readonly sql: string
  readonly parameters: ObjectLiteral
}

type Builder = SelectQueryBuilder<ObjectLiteral>

/** All of a plan but how many rows. */
export function selectQuery(
  dataSource: DataSource,
  plan: Query,
  condition: WrittenCondition,
  room?: ValueLimit,
): Builder {
  const builder = askedQuery(dataSource, plan, condition)
  addColumns(dataSource, builder, plan, room)
  return builder
}

/**
 * The rows of a page by a detour: what is passed over on the way to it need not be carried along, or sorted, as a whole.
 * @param tail which page
 */
export function deepQuery(
  dataSource: DataSource,
  plan: Query,
  condition: WrittenCondition,
  tail: string,
  room: ValueLimit,
): Builder {
  const { resource } = plan
  const keys = resource.key.columns.map((column) => columnSql(dataSource, column, rootAlias))
  const inner = askedQuery(dataSource, plan, condition)
  for (const [index, key] of keys.entries()) inner.addSelect(key, `k${index}`)
  const { driver } = dataSource
  const same = keys.map((key, index) => `${driver.escape('page')}.${driver.escape(`k${index}`)} = ${key}`)
  // An outer join, so that it goes from the keys to the rows: of an inner one SQLite would take the rows first, and look for each of
  // them among the keys.
  const builder = dataSource.createQueryBuilder().select([]).from<ObjectLiteral>(`(${inner.getQuery()}${tail})`, 'page')
  builder.leftJoin(resource.metadata.target, rootAlias, same.join(' AND '), inner.getParameters())
  addColumns(dataSource, builder, plan, room)
  addOrdering(dataSource, builder, plan)
  return builder
}

/** The rows of a plan in their order, without columns. */
function askedQuery(dataSource: DataSource, plan: Query, condition: WrittenCondition): Builder {
  const builder = matchingQuery(dataSource, plan, condition)
  addOrdering(dataSource, builder, plan)
  return builder
}

/** The rows of a plan, without order and columns. */
function matchingQuery(dataSource: DataSource, plan: Query, { sql, parameters }: WrittenCondition): Builder {
  const builder = dataSource.createQueryBuilder(plan.resource.metadata.target, rootAlias).select([])
  for (const join of plan.scope.joins) addJoin(dataSource, builder, join)
  return sql === '' ? builder : builder.andWhere(sql, parameters)
}

/**
 * Counts the rows of a plan.
 * @param tail limits how many are counted, as ` LIMIT :tr…_0`; empty for all
 */
export function countQuery(dataSource: DataSource, plan: Query, condition: WrittenCondition, tail: string): Builder {
  const matching = matchingQuery(dataSource, plan, condition)
  if (tail === '') return matching.addSelect('COUNT(*)', '0')
  const rows = matching.addSelect('1', 'k0')
  return dataSource
    .createQueryBuilder()
    .select('COUNT(*)', '0')
    .from<ObjectLiteral>(`(${rows.getQuery()}${tail})`, 'counted')
    .setParameters(rows.getParameters())
}

function addColumns(dataSource: DataSource, builder: Builder, plan: Query, room: ValueLimit): void {
  for (const [expression, name] of measuredSelection(dataSource, plan, room)) builder.addSelect(expression, name)
}

function addOrdering(dataSource: DataSource, builder: Builder, { ordering, cursor }: Query): void {
  const { areNullsLeast, knowsNullsOrder } = dialectOf(dataSource)
  for (const order of ordering) {
    const { alias, column, descending, nulls } = order
    const sql = cursor === undefined ? comparedSql(dataSource, column, alias) : sortedSql(dataSource, order)
    const isSaid = mayHaveNull(order) && !(areNullsLeast && descending === (nulls === 'last'))
    if (isSaid && !knowsNullsOrder) builder.addOrderBy(`(${sql} IS NULL)`, nulls === 'last' ? 'ASC' : 'DESC')
    const placement = nulls === 'last' ? 'NULLS LAST' : 'NULLS FIRST'
    builder.addOrderBy(sql, descending ? 'DESC' : 'ASC', isSaid && knowsNullsOrder ? placement : undefined)
  }
}

function addJoin(
  dataSource: DataSource,
  builder: Builder,
  join: Join,
  method: 'leftJoin' | 'innerJoin' = 'leftJoin',
): void {
  const { condition, parameters } = ofItsType(dataSource, join)
  builder[method](`${join.from}.${join.relation.propertyPath}`, join.alias, condition, parameters)
}

/**
 * The condition that a record has a related one. The subquery starts at the record's own table again, since TypeORM can follow any
 * relation from there. It does not depend on the row outside: the database runs it once.
 *
 * Subqueries within each other select distinct keys in a table of their own, which no database merges into the statement: merged, they
 * are joins whose rows multiply. Four relations with 20 records each took PostgreSQL more than a minute, MariaDB three.
 * @param where what must hold for the related record
 * @param isNested whether it is in the subquery of another one, or has one in its own
 * @param parameters receives the constants in it
 */
export function someSql(
  dataSource: DataSource,
  { first, joins }: Some,
  where: { readonly sql: string; readonly holdsForNulls: boolean },
  isNested: boolean,
  parameters: ObjectLiteral,
): string {
  const { driver } = dataSource
  const { alias, from, relation } = first
  const start = `${alias}_of`
  const { primaryColumns } = relation.entityMetadata
  const names = primaryColumns.map(({ databaseName }) => driver.escape(databaseName))
  const keyOf = (owner: string): readonly string[] => names.map((name) => `${driver.escape(owner)}.${name}`)
  const join = { alias, from: start, relation }
  const builder = relatedQuery(dataSource, join, 'leftJoin', keyOf(start))
  for (const other of joins) addJoin(dataSource, builder, other)
  // First, since SQLite leaves out the conditions after one that does not hold.
  const [column] = relation.inverseEntityMetadata.primaryColumns
  const relatedId = column && `${driver.escape(alias)}.${driver.escape(column.databaseName)}`
  const inTime = relatedId && dialectOf(dataSource).whileInTime(dataSource, relatedId)
  if (inTime !== undefined) builder.andWhere(inTime)
  builder.andWhere(where.sql)
  if (where.holdsForNulls && relation.isManyToMany) {
    // A row of the junction table whose record is soft-deleted, or of another type, is joined as nulls. It counts as no record only where
    // there is no other one.
    const withRelated = relatedQuery(dataSource, join, 'innerJoin', keyOf(start)).getQuery()
    builder.andWhere(`(${relatedId} IS NOT NULL OR (${keyOf(start).join(', ')}) NOT IN (${withRelated}))`)
  }
  const keys = isNested ? `SELECT * FROM (${builder.distinct().getQuery()}) ${alias}_keys` : builder.getQuery()
  Object.assign(parameters, builder.getParameters())
  const related = `(${keyOf(from).join(', ')}) IN (${keys})`
  // Where the path up to here leads to no record, it leads to no related one either.
  const isNothing = where.holdsForNulls && from !== rootAlias
  return isNothing ? `(${keyOf(from)[0]} IS NULL OR ${related})` : related
}

/** The keys of a table's records, joined with the records of a relation. */
function relatedQuery(
  dataSource: DataSource,
  join: Join,
  method: 'leftJoin' | 'innerJoin',
  keys: readonly string[],
): Builder {
  const builder = dataSource.createQueryBuilder(join.relation.entityMetadata.target, join.from).select([])
  for (const [index, key] of keys.entries()) builder.addSelect(key, `k${index}`)
  addJoin(dataSource, builder, join, method)
  return builder
}

/** Under single-table inheritance a join must ask for the type, which TypeORM asks for in the main table only. */
function ofItsType(
  { driver }: DataSource,
  { alias, relation }: Join,
): { readonly condition?: string; readonly parameters?: ObjectLiteral } {
  const target = relation.inverseEntityMetadata
  if (target.tableType !== 'entity-child' || target.discriminatorColumn === undefined) return {}
  const family = [target, ...target.childEntityMetadatas]
  const types = family.map(({ discriminatorValue }, index) => [
    `${parameterPrefix}${alias}_${index}`,
    discriminatorValue,
  ])
  const names = types.map(([name]) => `:${name}`).join(', ')
  return {
    condition: `${driver.escape(alias)}.${driver.escape(target.discriminatorColumn.databaseName)} IN (${names})`,
    parameters: Object.fromEntries(types),
  }
}
