import type { DataSource } from 'typeorm'
import type { Account, AccountLookup } from '../access/account'
import { isUserId } from '../access/rule'
import { cachedStatement, collectValues, compile, selectFrom } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import { violationOf } from '../dialect/dialect-of'
import { tableAlias } from '../query/query'
import type { AccountSource } from '../schema/account-source'
import type { ColumnMetadata } from '../schema/metadata'
import { buildReadColumn, type ReadColumn } from '../schema/stored-column'
import { buildRowReader, columnSql, type Row, selection, valueReader } from './row'

const accountAlias = tableAlias('account')

/**
 * Builds the lookup of accounts by user name, or by another property that identifies them. It runs one SELECT. Some
 * databases compare text without regard to case: the authenticators check that the value is exactly equal.
 */
export function buildAccountLookup(source: AccountSource, dataSource: DataSource): AccountLookup<DbSession> {
  const { properties, columns } = accountColumns(source, dataSource)
  const readRow = buildRowReader(columns, dataSource)
  const principalColumns = source.principal.map(({ column }) => buildReadColumn(column, dataSource))
  const selected = [...columns, ...principalColumns]
  const readers = principalColumns.map((column) => valueReader(column, dataSource))
  const propertiesReader = (raw: RawRow) => () =>
    Object.fromEntries(source.principal.map(({ name }, index) => [name, readers[index]?.(raw[columns.length + index])]))
  return async (session, username) => {
    const { values, bind } = collectValues()
    const parameter = usernameParameter(source, dataSource, username)
    if (parameter === undefined) return []
    const name = bind(parameter.value)
    const statement = cachedStatement(session, `account/${source.username.propertyPath}`, () => {
      const builder = selectFrom(dataSource, source.metadata.target, accountAlias)
      // The columns are SQL expressions because these keep their order. TypeORM 0.3 sorts properties, such as
      // `admin`, into the order of the entity's columns.
      for (const [expression, position] of selection(dataSource, selected, accountAlias))
        builder.addSelect(expression, position)
      const usernameSql = columnSql(dataSource, buildReadColumn(source.username, dataSource), accountAlias)
      return compile(dataSource, builder.where(`${usernameSql} = ${name}`), values.length)
    })
    const { records } = await execute(session, statement, values).catch((error: unknown) => {
      // If the database rejects the username as a value, no account has this name.
      if (violationOf(error, dataSource, source.metadata) === undefined) throw error
      return { records: [] }
    })
    return records.map((raw) => readAccount(properties, readRow(raw), propertiesReader(raw)))
  }
}

/** The bind value of a username; undefined if the transformer of the column rejects it, so that no account has this name. */
function usernameParameter(
  { username: column }: AccountSource,
  { driver }: DataSource,
  username: string,
): { readonly value: unknown } | undefined {
  try {
    return { value: driver.preparePersistentValue(username, column) }
  } catch (error) {
    if (column.transformer === undefined) throw error
    return undefined
  }
}

/** Columns from which an account is read, and the property of {@link Account} that each one sets, in the same order. */
function accountColumns(
  { key, username, password, admin, active }: AccountSource,
  dataSource: DataSource,
): { readonly properties: readonly string[]; readonly columns: readonly ReadColumn[] } {
  const columnOf: Readonly<Record<Exclude<keyof Account, 'readProperties'>, ColumnMetadata | undefined>> = {
    id: key,
    username,
    password,
    admin,
    active,
  }
  const stored = Object.entries(columnOf).flatMap(([property, column]) =>
    column === undefined ? [] : [{ property, column }],
  )
  return {
    properties: stored.map(({ property }) => property),
    columns: stored.map(({ column }) => buildReadColumn(column, dataSource)),
  }
}

function readAccount(properties: readonly string[], row: Row, readProperties: Account['readProperties']): Account {
  const values: Readonly<Record<string, unknown>> = Object.fromEntries(
    properties.map((property, index) => [property, row[index]]),
  )
  const { id } = values
  if (!isUserId(id)) throw new TypeError('the key of a user must be a string or a number')
  return {
    id: id as Account['id'],
    username: values['username'],
    password: values['password'],
    admin: isTrue(values['admin']),
    active: !('active' in values) || isTrue(values['active']),
    readProperties,
  }
}

/** Whether the value of a boolean column is true. Some drivers return numbers. */
export function isTrue(value: unknown): boolean {
  return Boolean(Number(value))
}
