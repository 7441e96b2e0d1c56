import type { DataSource } from 'typeorm'
import type { Account, AccountLookup } from '../access/account'
import type { AccountSource } from '../schema/account-source'
import type { ColumnMetadata } from '../schema/metadata'
import { compile, gather, statementOf } from './compile'
import type { Session } from './connection'
import { failureOf } from './dialect-of'
import { execute, type RawRow } from './statement'

/** Reads the users of a name, in one statement. Whether the name is exactly theirs is decided in `access/account.ts`. */
export function buildAccountLookup(source: AccountSource): AccountLookup<Session> {
  const columns = Object.entries({
    id: source.key,
    username: source.username,
    password: source.password,
    admin: source.admin,
    active: source.active,
  }).filter((entry): entry is [string, ColumnMetadata] => entry[1] !== undefined)
  return async (session, username) => {
    const { dataSource } = session
    const { values, bind } = gather()
    const name = bind(dataSource.driver.preparePersistentValue(username, source.username))
    const statement = statementOf(source, 'of a name', () => {
      const builder = dataSource.createQueryBuilder(source.metadata.target, 'u').select([])
      for (const [index, [, column]] of columns.entries()) builder.addSelect(`u.${column.propertyPath}`, String(index))
      return compile(dataSource, builder.where(`u.${source.username.propertyPath} = ${name}`), values.length)
    })
    const { records } = await execute(session, statement, values).catch((error: unknown) => {
      // A name that the database cannot write is nobody's.
      if (failureOf(error, dataSource, source.metadata) === undefined) throw error
      return { records: [] }
    })
    return records.map((row) => readAccount(dataSource, columns, row))
  }
}

function readAccount(
  dataSource: DataSource,
  columns: readonly (readonly [string, ColumnMetadata])[],
  row: RawRow,
): Account {
  const values = Object.fromEntries(
    columns.map(([name, column], index) => [name, dataSource.driver.prepareHydratedValue(row[index], column)]),
  )
  return {
    id: values['id'],
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
