import type { DataSource } from 'typeorm'
import type { Account, AccountLookup } from '../access/account'
import { compile, gather, statementOf } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { execute } from '../connection/statement'
import { violationOf } from '../dialect/dialect-of'
import type { AccountSource } from '../schema/account-source'
import { memoize } from '../schema/memoize'
import type { ColumnMetadata } from '../schema/metadata'
import { buildReadColumn, type ReadColumn } from '../schema/stored-column'
import { columnSql, type Row, readerOf, selection } from './row'

const alias = 'u'

/** Reads the users of a name, in one statement. Whether the name is exactly theirs is decided in `access/account.ts`. */
export function buildAccountLookup(source: AccountSource): AccountLookup<DbSession> {
  return async (session, username) => {
    const { dataSource } = session
    const { roles, columns } = accountColumns(source, dataSource)
    const { values, bind } = gather()
    const name = bind(dataSource.driver.preparePersistentValue(username, source.username))
    const statement = statementOf(session, 'account', () => {
      const builder = dataSource.createQueryBuilder(source.metadata.target, alias).select([])
      // Expressions keep their position. TypeORM 0.3 moves properties, as `u.admin`, into the order of the entity.
      for (const [expression, position] of selection(dataSource, columns, alias))
        builder.addSelect(expression, position)
      const usernameSql = columnSql(dataSource, buildReadColumn(source.username, dataSource), alias)
      return compile(dataSource, builder.where(`${usernameSql} = ${name}`), values.length)
    })
    const { records } = await execute(session, statement, values).catch((error: unknown) => {
      // A name that the database cannot write is nobody's.
      if (violationOf(error, dataSource, source.metadata) === undefined) throw error
      return { records: [] }
    })
    return records.map((raw) => readAccount(roles, readerOf(columns, dataSource)(raw)))
  }
}

/** The columns that an account is read from, and what each of them says, in the same order. */
const accountColumns = memoize(
  (
    { key, username, password, admin, active }: AccountSource,
    dataSource: DataSource,
  ): { readonly roles: readonly string[]; readonly columns: readonly ReadColumn[] } => {
    const columnOf: Readonly<Record<keyof Account, ColumnMetadata | undefined>> = {
      id: key,
      username,
      password,
      admin,
      active,
    }
    const found = Object.entries(columnOf).flatMap(([role, column]) => (column === undefined ? [] : [{ role, column }]))
    return {
      roles: found.map(({ role }) => role),
      columns: found.map(({ column }) => buildReadColumn(column, dataSource)),
    }
  },
)

function readAccount(roles: readonly string[], row: Row): Account {
  const values: Readonly<Record<string, unknown>> = Object.fromEntries(roles.map((role, index) => [role, row[index]]))
  return {
    id: values['id'] as Account['id'],
    username: values['username'],
    password: values['password'],
    admin: isSet(values['admin']),
    active: !('active' in values) || isSet(values['active']),
  }
}

/** A flag is a boolean, or a number that is not 0. */
function isSet(value: unknown): boolean {
  return Boolean(Number(value))
}
