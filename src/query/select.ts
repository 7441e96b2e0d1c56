import { type ListPlan, rootAlias, type SelectPlan } from '../plan/plan'
import { planItem } from '../plan/select-plan'
import type { Resource } from '../schema/registry'
import { compile, gather, statementOf } from './compile'
import type { Session, Transaction } from './connection'
import { dialectOf } from './dialect-of'
import type { Room } from './measure'
import { deepQuery, selectQuery } from './select-query'
import { execute, type RawRow } from './statement'
import { bindCondition, conditionSql } from './write-condition'

/** Runs the plan as one statement. Rows come as the driver hands them out. */
export async function readRaw(session: Session, plan: ListPlan, room?: Room): Promise<readonly RawRow[]> {
  const { dataSource } = session
  const { values, bind } = gather()
  // Sort columns of other tables would have to be joined twice.
  const isDeep = plan.offset >= deep && plan.ordering.every(({ alias }) => alias === rootAlias)
  const key = `list ${plan.start?.direction} ${isDeep} ${room} ${plan.names} ${bindCondition(dataSource, plan, bind)}`
  const tail = ` LIMIT ${bind(plan.limit)} OFFSET ${bind(plan.offset)}`
  const statement = statementOf(session, key, () => {
    const condition = conditionSql(dataSource, plan)
    return isDeep
      ? compile(dataSource, deepQuery(dataSource, plan, condition, tail, room), values.length)
      : compile(dataSource, selectQuery(dataSource, plan, condition, room), values.length, tail)
  })
  return (await execute(session, statement, values)).records
}

/** Rows before a page from which on its keys are sought first, and the rest of its rows then. */
const deep = 1000

/** The whole record of a key, as the driver hands it out. Nobody else can write it until the transaction ends. */
export function lockItem(session: Transaction, resource: Resource, key: unknown): Promise<RawRow | undefined> {
  // Where all share one connection, nobody else is in between.
  return readRawItem(session, resource, key, 'entityRow', { locks: !dialectOf(session.dataSource).sharesConnection })
}

/** How an item is read. */
interface ItemReading {
  /** Whether nobody else can write it until the transaction ends. */
  readonly locks?: boolean
  readonly room?: Room
}

/** The record of a key, as the driver hands it out. */
export async function readRawItem(
  session: Session,
  resource: Resource,
  key: unknown,
  columns: SelectPlan['columns'] = 'row',
  { locks = false, room }: ItemReading = {},
): Promise<RawRow | undefined> {
  const { dataSource } = session
  const { values, bind } = gather()
  const plan = planItem(resource, key, columns)
  const cacheKey = `${locks ? 'lock' : 'read'} ${resource.name} ${columns} ${room} ${bindCondition(dataSource, plan, bind)}`
  const statement = statementOf(session, cacheKey, () => {
    const builder = selectQuery(dataSource, plan, conditionSql(dataSource, plan), room)
    return compile(dataSource, locks ? builder.setLock('pessimistic_write') : builder, values.length)
  })
  return (await execute(session, statement, values)).records[0]
}
