import { cachedStatement, compile, gather } from '../connection/compile'
import type { DbSession, DbTransaction } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import { itemQuery } from '../query/list-query'
import { type ListQuery, type Query, rootAlias } from '../query/query'
import type { Resource } from '../schema/registry'
import { bindConditionValues, conditionSql } from './condition-sql'
import type { ValueLimit } from './measure'
import { deepOffsetQuery, selectQuery } from './select-query'

/** Runs the plan as one statement. Rows come as the driver hands them out. */
export async function readRaw(session: DbSession, plan: ListQuery, room?: ValueLimit): Promise<readonly RawRow[]> {
  const { dataSource } = session
  const { values, bind } = gather()
  // Sort columns of other tables would have to be joined twice.
  const isDeep = plan.offset >= deepOffset && plan.ordering.every(({ alias }) => alias === rootAlias)
  const key = `list ${plan.cursor?.direction} ${isDeep} ${room} ${plan.cacheKey} ${bindConditionValues(dataSource, plan, bind)}`
  const tail = ` LIMIT ${bind(plan.limit)} OFFSET ${bind(plan.offset)}`
  const statement = cachedStatement(session, key, () => {
    const condition = conditionSql(dataSource, plan)
    return isDeep
      ? compile(dataSource, deepOffsetQuery(dataSource, plan, condition, tail, room), values.length)
      : compile(dataSource, selectQuery(dataSource, plan, condition, room), values.length, tail)
  })
  return (await execute(session, statement, values)).records
}

/** Rows before a page from which on its keys are sought first, and the rest of its rows then. */
const deepOffset = 1000

/** The whole record of a key, as the driver hands it out. Nobody else can write it until the transaction ends. */
export function lockItem(session: DbTransaction, resource: Resource, key: unknown): Promise<RawRow | undefined> {
  // Where all share one connection, nobody else is in between.
  return readRawItem(session, resource, key, 'entityColumns', {
    locks: !dialectOf(session.dataSource).sharesConnection,
  })
}

/** How an item is read. */
interface ItemReading {
  /** Whether nobody else can write it until the transaction ends. */
  readonly locks?: boolean
  readonly room?: ValueLimit
}

/** The record of a key, as the driver hands it out. */
export async function readRawItem(
  session: DbSession,
  resource: Resource,
  key: unknown,
  select: Query['select'] = 'columns',
  { locks = false, room }: ItemReading = {},
): Promise<RawRow | undefined> {
  const { dataSource } = session
  const { values, bind } = gather()
  const plan = itemQuery(resource, key, select)
  const cacheKey = `${locks ? 'lock' : 'read'} ${resource.name} ${select} ${room} ${bindConditionValues(dataSource, plan, bind)}`
  const statement = cachedStatement(session, cacheKey, () => {
    const builder = selectQuery(dataSource, plan, conditionSql(dataSource, plan), room)
    return compile(dataSource, locks ? builder.setLock('pessimistic_write') : builder, values.length)
  })
  return (await execute(session, statement, values)).records[0]
}
