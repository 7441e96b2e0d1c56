import type { DataSource } from 'typeorm'
import type { ListPlan, Scope, SelectPlan } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { Resource } from '../schema/registry'
import { type Bind, compile, gather, statementOf } from './compile'
import { bindCondition, conditionSql } from './condition'
import type { Session, Transaction } from './connection'
import { dialectOf } from './dialect-of'
import { behindSql } from './keyset'
import { type Asked, deepQuery, selectQuery } from './select-query'
import { execute, type RawRow } from './statement'

/** Runs the plan as one statement. Rows come as the driver hands them out. */
export async function readRaw(session: Session, plan: ListPlan): Promise<readonly RawRow[]> {
  const { dataSource } = session
  const { values, bind } = gather()
  const isDeep = plan.offset >= deep
  const shape = `list ${plan.start?.direction} ${isDeep} ${plan.names} ${bindAll(dataSource, plan, bind)}`
  const tail = ` LIMIT ${bind(plan.limit)} OFFSET ${bind(plan.offset)}`
  const statement = statementOf(plan.resource, shape, () => {
    const asked = writeAll(dataSource, plan)
    return isDeep
      ? compile(dataSource, deepQuery(dataSource, plan, asked, tail), values.length)
      : compile(dataSource, selectQuery(dataSource, plan, asked), values.length, tail)
  })
  return (await execute(session, statement, values)).records
}

/** Rows before a page from which on its keys are sought first, and the rest of its rows then. */
const deep = 1000

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
  const shape = `${locks ? 'lock' : 'read'} ${columns} ${bindAll(dataSource, plan, bind)}`
  const statement = statementOf(resource, shape, () => {
    const builder = selectQuery(dataSource, plan, writeAll(dataSource, plan))
    return compile(dataSource, locks ? builder.setLock('pessimistic_write') : builder, values.length)
  })
  return (await execute(session, statement, values)).records[0]
}

/**
 * The conditions of a plan, in the order in which their values are bound.
 * @param write what each of them becomes
 */
function askAll(dataSource: DataSource, plan: SelectPlan, write: typeof conditionSql, bind: Bind): Asked {
  const { question, values } = plan
  const writeScope = ({ comparisons }: Scope): readonly string[] =>
    comparisons.map((one) => write(one, values[one.slot] ?? [], dataSource, bind))
  const behind = behindSql(dataSource, plan, bind)
  const own = writeScope(question)
  return { own: behind === undefined ? own : [...own, behind], exists: question.exists.map(writeScope) }
}

/** Binds the values of a plan. @returns what the text of its conditions depends on: most of it is not written for each request */
function bindAll(dataSource: DataSource, plan: SelectPlan, bind: Bind): string {
  const { own, exists } = askAll(dataSource, plan, bindCondition, bind)
  return [...own, ...exists.flat()].join('\n')
}

/** The conditions as SQL, with the placeholders of {@link bindAll}. */
function writeAll(dataSource: DataSource, plan: SelectPlan): Asked {
  return askAll(dataSource, plan, conditionSql, gather().bind)
}
