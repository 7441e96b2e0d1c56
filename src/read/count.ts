import { compile, gather, statementOf } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { execute } from '../connection/statement'
import type { ListQuery } from '../query/query'
import { bindCondition, conditionSql } from './condition-sql'
import { countQuery } from './select-query'

/** Counts the records of a list, those of all its pages. @param most from how many on it stops; undefined for none */
export async function countRows(session: DbSession, plan: ListQuery, most: number | undefined): Promise<number> {
  const { dataSource } = session
  const { values, bind } = gather()
  // Pages after a token are pages of the same list.
  const all = { ...plan, start: undefined }
  const key = `count ${most === undefined} ${plan.cacheKey} ${bindCondition(dataSource, all, bind)}`
  const tail = most === undefined ? '' : ` LIMIT ${bind(most)}`
  const statement = statementOf(session, key, () =>
    compile(dataSource, countQuery(dataSource, all, conditionSql(dataSource, all), tail), values.length),
  )
  const { records } = await execute(session, statement, values)
  return Number(records[0]?.[0])
}
