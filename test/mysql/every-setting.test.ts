import type { DataSource } from 'typeorm'
import { type Setting, testEverySetting } from '../support/every-setting'
import { setOnce } from '../support/mysql-session'

/**
 * Settings that change responses, as they should: read-only sessions, other generated keys, the limit on the rows that a join reads,
 * limits on memory, and time limits.
 */
const excluded =
  /_read_only$|^auto_increment_|^max_join_size$|^max_session_mem_used$|^sort_buffer_size$|_timeout$|^max_statement_time$/

interface Row {
  readonly VARIABLE_NAME: string
  readonly VARIABLE_TYPE: string
  readonly SESSION_VALUE: string
  readonly ENUM_VALUE_LIST: string | null
  readonly NUMERIC_MIN_VALUE: string | null
  readonly NUMERIC_MAX_VALUE: string | null
}

/** All values of switches, enums and sets, and the bounds of numbers. */
function valuesOf(row: Row): readonly string[] {
  const { VARIABLE_TYPE: type, ENUM_VALUE_LIST: list, NUMERIC_MIN_VALUE: min, NUMERIC_MAX_VALUE: max } = row
  const members = (list ?? '').split(',').filter((member) => member !== '')
  if (type === 'FLAGSET') return members.flatMap((member) => [`'${member}=on'`, `'${member}=off'`])
  if (type === 'BOOLEAN' || type === 'ENUM' || type === 'SET') return members.map((member) => `'${member}'`)
  return [min, max].filter((value) => value !== null)
}

const setting = ({ name, value }: Setting): string => `SET SESSION ${name} = ${value}`

/** Some settings are only for all sessions, or need a privilege. */
const isPossible = (dataSource: DataSource, one: Setting): Promise<boolean> =>
  dataSource.query(setting(one)).then(
    () => true,
    () => false,
  )

testEverySetting(
  async (dataSource) => {
    const rows: readonly Row[] = await dataSource.query(
      "SELECT * FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_SCOPE LIKE 'SESSION%' AND READ_ONLY = 'NO'",
    )
    const possible: Setting[] = []
    for (const row of rows) {
      for (const value of valuesOf(row)) {
        const one = { name: row.VARIABLE_NAME.toLowerCase(), value }
        if (!excluded.test(one.name) && (await isPossible(dataSource, one))) possible.push(one)
      }
    }
    return possible
  },
  (one) => ({ source: { poolSize: 1 }, seed: (dataSource) => setOnce(dataSource, setting(one)) }),
)
