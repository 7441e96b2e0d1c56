import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { type Exists, type Join, rootAlias, type SelectPlan } from '../plan/plan'
import { dialectOf } from './dialect-of'
import { placeSelection, sortedSql } from './keyset'
import { columnSql, mayBeNull, selection } from './row'

/** The conditions of a plan as SQL: its own, and those of each `exists`. */
export interface Asked {
  readonly own: readonly string[]
  readonly exists: readonly (readonly string[])[]
}

type Builder = SelectQueryBuilder<ObjectLiteral>

/** All of a plan but how many rows. */
export function selectQuery(dataSource: DataSource, plan: SelectPlan, asked: Asked): Builder {
  const builder = askedQuery(dataSource, plan, asked)
  addColumns(dataSource, builder, plan)
  return builder
}

/**
 * The rows of a page by a detour: what is passed over on the way to it need not be carried along, or sorted, as a whole.
 * @param tail which page
 */
export function deepQuery(dataSource: DataSource, plan: SelectPlan, asked: Asked, tail: string): Builder {
  const { resource } = plan
  const keys = resource.key.columns.map((column) => columnSql(dataSource, column, rootAlias))
  const inner = askedQuery(dataSource, plan, asked)
  for (const [index, key] of keys.entries()) inner.addSelect(key, `k${index}`)
  const { driver } = dataSource
  const same = keys.map((key, index) => `${driver.escape('page')}.${driver.escape(`k${index}`)} = ${key}`)
  // An outer join, so that it goes from the keys to the rows: of an inner one SQLite would take the rows first, and look for each of
  // them among the keys.
  const builder = dataSource.createQueryBuilder().select([]).from<ObjectLiteral>(`(${inner.getQuery()}${tail})`, 'page')
  builder.leftJoin(resource.metadata.target, rootAlias, same.join(' AND '), inner.getParameters())
  addColumns(dataSource, builder, plan)
  addOrdering(dataSource, builder, plan)
  return builder
}

/** What a plan asks, in its order, without columns. */
function askedQuery(dataSource: DataSource, plan: SelectPlan, { own, exists }: Asked): Builder {
  const builder = dataSource.createQueryBuilder(plan.resource.metadata.target, rootAlias).select([])
  const { question } = plan
  askScope(dataSource, builder, question.joins, own)
  for (const [index, one] of question.exists.entries()) askExists(dataSource, builder, one, exists[index] ?? [])
  addOrdering(dataSource, builder, plan)
  return builder
}

function addColumns(dataSource: DataSource, builder: Builder, plan: SelectPlan): void {
  const columns = selection(dataSource, plan.resource[plan.columns], rootAlias)
  for (const [expression, name] of [...columns, ...placeSelection(dataSource, plan)])
    builder.addSelect(expression, name)
}

function addOrdering(dataSource: DataSource, builder: Builder, { ordering, start }: SelectPlan): void {
  const { sayNulls } = dialectOf(dataSource)
  for (const order of ordering) {
    const { column, descending } = order
    const sql = start === undefined ? columnSql(dataSource, column, rootAlias) : sortedSql(dataSource, order)
    const nulls = sayNulls && mayBeNull(column) ? (descending ? 'NULLS LAST' : 'NULLS FIRST') : undefined
    builder.addOrderBy(sql, descending ? 'DESC' : 'ASC', nulls)
  }
}

function askScope(
  dataSource: DataSource,
  builder: Builder,
  joins: readonly Join[],
  conditions: readonly string[],
): void {
  for (const join of joins) {
    const { condition, parameters } = ofItsType(dataSource, join)
    builder.leftJoin(`${join.from}.${join.relation.propertyPath}`, join.alias, condition, parameters)
  }
  for (const condition of conditions) builder.andWhere(condition)
}

/**
 * The records for which there are others at the end of a relation. It starts at the record itself once more, since TypeORM knows
 * how to follow any relation from there, and does not depend on the row outside: the database answers it once.
 */
function askExists(dataSource: DataSource, outer: Builder, exists: Exists, conditions: readonly string[]): void {
  const { driver } = dataSource
  const { alias, from, relation } = exists.first
  const again = `${alias}_of`
  const { target, primaryColumns } = relation.entityMetadata
  const names = primaryColumns.map(({ databaseName }) => driver.escape(databaseName))
  const keyOf = (owner: string): string => names.map((name) => `${driver.escape(owner)}.${name}`).join(', ')
  const builder = dataSource.createQueryBuilder(target, again).select(keyOf(again))
  askScope(dataSource, builder, [{ alias, from: again, relation }, ...exists.joins], conditions)
  outer.andWhere(`(${keyOf(from)}) IN (${builder.getQuery()})`, builder.getParameters())
}

/** Under single-table inheritance a join must ask for the type, which TypeORM asks for in the main table only. */
function ofItsType(
  { driver }: DataSource,
  { alias, relation }: Join,
): { readonly condition?: string; readonly parameters?: ObjectLiteral } {
  const target = relation.inverseEntityMetadata
  if (target.tableType !== 'entity-child' || target.discriminatorColumn === undefined) return {}
  const family = [target, ...target.childEntityMetadatas]
  const types = family.map(({ discriminatorValue }, index) => [`tr_${alias}_${index}`, discriminatorValue])
  const names = types.map(([name]) => `:${name}`).join(', ')
  return {
    condition: `${driver.escape(alias)}.${driver.escape(target.discriminatorColumn.databaseName)} IN (${names})`,
    parameters: Object.fromEntries(types),
  }
}
