import type { DataSource } from 'typeorm'
import type { Join, Scope, SelectPlan } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { Resource } from '../schema/registry'
import { type Bind, compile, gather, statementOf } from './compile'
import { conditionSql } from './condition'
import type { Session, Transaction } from './connection'
import { dialectOf } from './dialect-of'
import { behindSql } from './keyset'
import { type Row, readerOf } from './row'
import { type Asked, deepQuery, selectQuery } from './select-query'
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
  const isDeep = dialectOf(dataSource).seeksKeysFirst && (plan.page?.offset ?? 0) >= deep
  const statement = statementOf(plan.resource, shapeOf(plan, asked, behind, isDeep), () =>
    isDeep
      ? compile(dataSource, deepQuery(dataSource, plan, asked, behind, tail), values.length)
      : compile(dataSource, selectQuery(dataSource, plan, asked, behind), values.length, tail),
  )
  return (await execute(session, statement, values)).rows
}

/** Rows before a page from which on its keys are sought first, and the rest of its rows then. */
const deep = 1000

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

function askAll(dataSource: DataSource, plan: SelectPlan, bind: Bind): Asked {
  const ask = (scope: Scope): [Scope, readonly string[]] => [
    scope,
    scope.conditions.map((condition) => conditionSql(condition, dataSource, bind)),
  ]
  return new Map([ask(plan), ...plan.exists.map(ask)])
}

/** All that the text of a plan's statement depends on. Its conditions are SQL already, with names in place of values. */
function shapeOf(plan: SelectPlan, asked: Asked, behind: string | undefined, isDeep: boolean): string {
  const { columns, page, start, joins, exists, ordering } = plan
  const joined = (join: Join): string => `${join.alias} ${join.from}.${join.relation.propertyPath}`
  return JSON.stringify([
    columns,
    page !== undefined,
    start !== undefined,
    behind,
    isDeep,
    [...asked.values()],
    joins.map(joined),
    exists.map(({ first, joins: inner }) => [first, ...inner].map(joined)),
    ordering.map(({ column, descending }) => [column.column.databaseName, descending]),
  ])
}
