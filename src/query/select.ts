import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { type Exists, type Join, rootAlias, type Scope, type SelectPlan } from '../plan/plan'
import { type Bind, conditionSql } from './condition'
import type { Session, Transaction } from './connection'
import { dialectOf } from './dialect-of'
import { afterLoad } from './load'
import { columnSql, hydrate, type Row, selection } from './row'
import { execute, type RawRow } from './statement'

/** Runs the plan as one statement. */
export async function fetchRows(session: Session, plan: SelectPlan): Promise<readonly Row[]> {
  return afterLoad(session, plan.resource, await readRows(session, plan))
}

/** As {@link fetchRows}, as they are stored: no listener sees them. */
export async function readRows(session: Session, plan: SelectPlan): Promise<readonly Row[]> {
  const { rows } = await execute(session, selectQuery(session.dataSource, plan))
  return rows.map((row) => hydrate(session.dataSource, plan.columns, row))
}

/** As the driver hands them out. Nobody else can write them until the transaction ends. */
export async function lockRows(session: Transaction, plan: SelectPlan): Promise<readonly RawRow[]> {
  const builder = selectQuery(session.dataSource, plan)
  // Where all share one connection, nobody else is in between.
  if (!dialectOf(session.dataSource).sharesConnection) builder.setLock('pessimistic_write')
  return (await execute(session, builder)).rows
}

type Builder = SelectQueryBuilder<ObjectLiteral>

function selectQuery(dataSource: DataSource, plan: SelectPlan): Builder {
  const { resource, exists, ordering, limit, offset } = plan
  const builder = dataSource.createQueryBuilder(resource.metadata.target, rootAlias).select([])
  for (const [expression, name] of selection(dataSource, plan.columns, rootAlias)) builder.addSelect(expression, name)
  let bound = 0
  const bind = (value: unknown): string => {
    const name = `tr_bound_${bound++}`
    builder.setParameter(name, value)
    return `:${name}`
  }
  askScope(dataSource, builder, plan, bind)
  for (const one of exists) builder.andWhere(subquerySql(dataSource, one, bind))
  const { sayNulls } = dialectOf(dataSource)
  for (const { column, descending } of ordering) {
    const nulls = sayNulls && column.column.isNullable ? (descending ? 'NULLS LAST' : 'NULLS FIRST') : undefined
    builder.addOrderBy(columnSql(dataSource, column, rootAlias), descending ? 'DESC' : 'ASC', nulls)
  }
  return builder.limit(limit).offset(offset)
}

function askScope(dataSource: DataSource, builder: Builder, { joins, conditions }: Scope, bind: Bind): void {
  for (const join of joins) {
    builder.leftJoin(`${join.from}.${join.relation.propertyPath}`, join.alias, ofItsType(dataSource, join, bind))
  }
  for (const condition of conditions) builder.andWhere(conditionSql(condition, dataSource, bind))
}

/**
 * The records for which there are others at the end of a relation. It starts at the record itself once more, since TypeORM knows
 * how to follow any relation from there, and does not depend on the row outside: the database answers it once.
 */
function subquerySql(dataSource: DataSource, exists: Exists, bind: Bind): string {
  const { driver } = dataSource
  const { alias, from, relation } = exists.first
  const again = `${alias}_of`
  const { target, primaryColumns } = relation.entityMetadata
  const names = primaryColumns.map(({ databaseName }) => driver.escape(databaseName))
  const keyOf = (owner: string): string => names.map((name) => `${driver.escape(owner)}.${name}`).join(', ')
  const builder = dataSource.createQueryBuilder(target, again).select(keyOf(again))
  const join = { alias, from: again, relation }
  askScope(dataSource, builder, { ...exists, joins: [join, ...exists.joins] }, bind)
  return `(${keyOf(from)}) IN (${builder.getQuery()})`
}

/** Under single-table inheritance a join must ask for the type, which TypeORM asks for in the main table only. */
function ofItsType({ driver }: DataSource, { alias, relation }: Join, bind: Bind): string | undefined {
  const target = relation.inverseEntityMetadata
  if (target.tableType !== 'entity-child' || target.discriminatorColumn === undefined) return undefined
  const types = [target, ...target.childEntityMetadatas].map(({ discriminatorValue }) => bind(discriminatorValue))
  return `${driver.escape(alias)}.${driver.escape(target.discriminatorColumn.databaseName)} IN (${types.join(', ')})`
}
