import { type Setting, testEverySetting } from '../support/every-setting'

/**
 * Settings that make requests fail, as they should: read-only sessions, sessions that end with the first error, and time limits. The
 * isolation and costs have values with which a session cannot begin, or takes minutes for each statement.
 */
const excluded = /_read_only$|^exit_on_error$|_timeout$|^(default_)?transaction_|_cost$|^max_stack_depth$/

interface Row {
  readonly name: string
  readonly setting: string
  readonly vartype: 'bool' | 'enum' | 'integer' | 'real' | 'string'
  readonly enumvals: readonly string[] | null
  readonly min_val: string | null
  readonly max_val: string | null
}

/** All values of switches and enums, and the bounds of numbers. */
const valuesOf = ({ vartype, enumvals, min_val, max_val }: Row): readonly (string | null)[] =>
  vartype === 'bool' ? ['on', 'off'] : (enumvals ?? [min_val, max_val])

testEverySetting(
  async (dataSource) => {
    const rows: readonly Row[] = await dataSource.query(
      "SELECT * FROM pg_settings WHERE context IN ('user', 'superuser')",
    )
    return rows.flatMap((row): readonly Setting[] =>
      valuesOf(row)
        .filter((value) => value !== null && value !== row.setting && !excluded.test(row.name))
        .map((value) => ({ name: row.name, value: String(value) })),
    )
  },
  ({ name, value }) => ({ source: { extra: { options: `-c ${name}=${value.replaceAll(' ', '\\ ')}` } } as object }),
)
