import type { ListPlan } from '../plan/plan'
import { compile, gather, statementOf } from './compile'
import type { Session } from './connection'
import { countQuery } from './select-query'
import { execute } from './statement'
import { bindCondition, conditionSql } from './write-condition'

/** Counts the records of a list, those of all its pages. @param most from how many on it stops; undefined for none */
export async function countRows(session: Session, plan: ListPlan, most: number | undefined): Promise<number> {
  const { dataSource } = session
  const { values, bind } = gather()
  // Pages after a token are pages of the same list.
  const all = { ...plan, start: undefined }
  const key = `count ${most === undefined} ${plan.names} ${bindCondition(dataSource, all, bind)}`
  const tail = most === undefined ? '' : ` LIMIT ${bind(most)}`
  const statement = statementOf(session, key, () =>
    compile(dataSource, countQuery(dataSource, all, conditionSql(dataSource, all), tail), values.length),
  )
  const { records } = await execute(session, statement, values)
  return Number(records[0]?.[0])
}
