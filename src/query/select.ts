import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { type Exists, type Join, rootAlias, type Scope, type SelectPlan } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { Resource } from '../schema/registry'
import { type Bind, compile, gather, statementOf } from './compile'
import { conditionSql } from './condition'
import type { Session, Transaction } from './connection'
import { dialectOf } from './dialect-of'
import { behindSql, placeSelection } from './keyset'
import { columnSql, type Row, readerOf, selection } from './row'
import { execute, type RawRow } from './statement'

/** Runs the plan as one statement. Rows come as they are stored: no listener has seen them. */
export async function readRows(session: Session, plan: SelectPlan): Promise<readonly Row[]> {
  const rows = await readRaw(session, plan)
  return rows.map(readerOf(plan.resource[plan.columns], session.dataSource))
}

/** As {@link readRows}, as the driver hands them out. */
export async function readRaw(session: Session, plan: SelectPlan): Promise<readonly RawRow[]> {
  const { dataSource } = session
  const { values, bind } = gather()
  const asked = askAll(dataSource, plan, bind)
  const behind = behindSql(dataSource, plan, bind)
  const tail = plan.page === undefined ? '' : ` LIMIT ${bind(plan.page.limit)} OFFSET ${bind(plan.page.offset)}`
  const statement = statementOf(plan.resource, shapeOf(plan, asked, behind), () =>
    compile(dataSource, selectQuery(dataSource, plan, asked, behind), values.length, tail),
  )
  return (await execute(session, statement, values)).rows
}

/** The record of a key, as it is stored. */
export async function readItem(session: Session, resource: Resource, key: unknown): Promise<Row | undefined> {
  const raw = await readRawItem(session, resource, key)
  return raw && readerOf(resource.row, session.dataSource)(raw)
}

/** The whole record of a key, as the driver hands it out. Nobody else can write it until the transaction ends. */
export function lockItem(session: Transaction, resource: Resource, key: unknown): Promise<RawRow | undefined> {
  // Where all share one connection, nobody else is in between.
  return readRawItem(session, resource, key, 'entityRow', !dialectOf(session.dataSource).sharesConnection)
}

/** The record of a key, as the driver hands it out. */
export async function readRawItem(
  session: Session,
  resource: Resource,
  key: unknown,
  columns: SelectPlan['columns'] = 'row',
  locks = false,
): Promise<RawRow | undefined> {
  const { dataSource } = session
  const { values, bind } = gather()
  const plan = planItem(resource, key, columns)
  const conditions = plan.conditions.map((condition) => conditionSql(condition, dataSource, bind))
  const statement = statementOf(resource, `${locks ? 'lock' : 'read'} ${columns} ${conditions}`, () => {
    const builder = selectQuery(dataSource, plan, new Map([[plan, conditions]]))
    return compile(dataSource, locks ? builder.setLock('pessimistic_write') : builder, values.length)
  })
  return (await execute(session, statement, values)).rows[0]
}

/** What the scopes of a plan ask, as SQL. */
type Asked = ReadonlyMap<Scope, readonly string[]>

function askAll(dataSource: DataSource, plan: SelectPlan, bind: Bind): Asked {
  const ask = (scope: Scope): [Scope, readonly string[]] => [
    scope,
    scope.conditions.map((condition) => conditionSql(condition, dataSource, bind)),
  ]
  return new Map([ask(plan), ...plan.exists.map(ask)])
}

/** All that the text of a plan's statement depends on. Its conditions are SQL already, with names in place of values. */
function shapeOf(plan: SelectPlan, asked: Asked, behind: string | undefined): string {
  const { columns, page, start, joins, exists, ordering } = plan
  const joined = (join: Join): string => `${join.alias} ${join.from}.${join.relation.propertyPath}`
  return JSON.stringify([
    columns,
    page !== undefined,
    start !== undefined,
    behind,
    [...asked.values()],
    joins.map(joined),
    exists.map(({ first, joins: inner }) => [first, ...inner].map(joined)),
    ordering.map(({ column, descending }) => [column.column.databaseName, descending]),
  ])
}

type Builder = SelectQueryBuilder<ObjectLiteral>

function selectQuery(dataSource: DataSource, plan: SelectPlan, asked: Asked, behind?: string): Builder {
  const { resource, columns, exists, ordering } = plan
  const builder = dataSource.createQueryBuilder(resource.metadata.target, rootAlias).select([])
  const selected = [...selection(dataSource, resource[columns], rootAlias), ...placeSelection(dataSource, plan)]
  for (const [expression, name] of selected) builder.addSelect(expression, name)
  askScope(dataSource, builder, plan, plan.joins, asked)
  if (behind !== undefined) builder.andWhere(behind)
  for (const one of exists) askExists(dataSource, builder, one, asked)
  const { sayNulls } = dialectOf(dataSource)
  for (const { column, descending } of ordering) {
    const nulls = sayNulls && column.column.isNullable ? (descending ? 'NULLS LAST' : 'NULLS FIRST') : undefined
    builder.addOrderBy(columnSql(dataSource, column, rootAlias), descending ? 'DESC' : 'ASC', nulls)
  }
  return builder
}

function askScope(dataSource: DataSource, builder: Builder, scope: Scope, joins: readonly Join[], asked: Asked): void {
  for (const join of joins) {
    const { condition, parameters } = ofItsType(dataSource, join)
    builder.leftJoin(`${join.from}.${join.relation.propertyPath}`, join.alias, condition, parameters)
  }
  for (const condition of asked.get(scope) ?? []) builder.andWhere(condition)
}

/**
 * The records for which there are others at the end of a relation. It starts at the record itself once more, since TypeORM knows
 * how to follow any relation from there, and does not depend on the row outside: the database answers it once.
 */
function askExists(dataSource: DataSource, outer: Builder, exists: Exists, asked: Asked): void {
  const { driver } = dataSource
  const { alias, from, relation } = exists.first
  const again = `${alias}_of`
  const { target, primaryColumns } = relation.entityMetadata
  const names = primaryColumns.map(({ databaseName }) => driver.escape(databaseName))
  const keyOf = (owner: string): string => names.map((name) => `${driver.escape(owner)}.${name}`).join(', ')
  const builder = dataSource.createQueryBuilder(target, again).select(keyOf(again))
  askScope(dataSource, builder, exists, [{ alias, from: again, relation }, ...exists.joins], asked)
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
