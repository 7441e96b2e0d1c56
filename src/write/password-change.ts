import type { DataSource } from 'typeorm'
import type { Account } from '../access/account'
import { cachedStatement, collectValues, compile } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { retryOnce } from '../connection/retry'
import { execute, runInTransaction } from '../connection/statement'
import { dialectOf, violationOf } from '../dialect/dialect-of'
import { ApiError, type FieldErrors } from '../errors'
import { setPath } from '../read/entity'
import { columnSql, toBindParameter } from '../read/row'
import type { AccountSource } from '../schema/account-source'
import { passwordType } from '../schema/field'
import type { ColumnMetadata } from '../schema/metadata'
import { buildReadColumn, buildStoredColumn } from '../schema/stored-column'
import { buildValidate } from '../schema/validation'

/** Functions with which users change their own password. */
export interface PasswordChange {
  /**
   * Checks a new password: its length, and the validators of the property in the user entity. They get an entity with
   * the password and the user name only.
   * @param errors receives every error
   */
  readonly check: (account: Account, password: unknown, errors: FieldErrors) => Promise<void>
  /**
   * Stores the hash of a new password. Listeners and subscribers of the entity are not called.
   * @returns false if the stored hash has changed since the account was read, or the user was deleted
   */
  readonly write: (session: DbSession, account: Account, hash: string) => Promise<boolean>
}

/** Builds the password change for the user entity of a mount. */
export function buildPasswordChange(source: AccountSource, dataSource: DataSource): PasswordChange {
  const { metadata, username, password } = source
  const validate = buildValidate(metadata)
  return {
    check: async (account, json, errors) => {
      const plain = errors.try('new', () => passwordType.fromJson(json))
      if (plain === undefined || validate === undefined) return
      const entity = metadata.create()
      username.setEntityValue(entity, account.username)
      password.setEntityValue(entity, plain)
      const violations = await validate(entity)
      const own = violations.filter(({ property }) => property === password.propertyPath)
      for (const { message } of own) errors.add('new', message)
    },
    write: (session, account, hash) =>
      retryOnce(session, () => writeAndRecord(session, source, dataSource, account, hash)).catch((error: unknown) => {
        if (violationOf(error, dataSource, metadata) === undefined) throw error
        throw new ApiError('bad-values', 'the database does not accept the password')
      }),
  }
}

/**
 * Writes the hash. If changes are observed, it is written in a transaction: after the commit, live lists check the credentials
 * of the user again.
 */
function writeAndRecord(
  session: DbSession,
  source: AccountSource,
  dataSource: DataSource,
  account: Account,
  hash: string,
): Promise<boolean> {
  const { observer } = session
  if (!observer.isObserved) return updateHash(session, source, dataSource, account, hash)
  return runInTransaction(session, async (inner) => {
    const isWritten = await updateHash(inner, source, dataSource, account, hash)
    const { tablePath } = source.metadata
    if (isWritten)
      observer.recordTable(inner.runner, { table: tablePath, ids: [String(account.id)], isDeletion: false })
    return isWritten
  })
}

async function updateHash(
  session: DbSession,
  { metadata, key, username, password }: AccountSource,
  dataSource: DataSource,
  account: Account,
  hash: string,
): Promise<boolean> {
  const { values, bind } = collectValues()
  const newHash = bind(dataSource.driver.preparePersistentValue(hash, password))
  const bindColumn = (column: ColumnMetadata, value: unknown): string =>
    bind(toBindParameter(dataSource, buildReadColumn(column, dataSource), value))
  const [id, oldHash] = [bindColumn(key, account.id), bindColumn(password, account.password)]
  // With a key of several columns, the id of an account is the first one, which other users can share.
  const name = metadata.primaryColumns.length > 1 ? bindColumn(username, account.username) : undefined
  const statement = cachedStatement(session, 'password', () => {
    const set = {}
    setPath(set, password.propertyPath, () => newHash)
    const conditions = [equals(dataSource, key, id), equals(dataSource, password, oldHash)]
    if (name !== undefined) conditions.push(equals(dataSource, username, name))
    const builder = dataSource.createQueryBuilder().update(metadata.target).set(set).updateEntity(false)
    return compile(dataSource, builder.where(conditions.join(' AND ')), values.length)
  })
  const { affected = 0 } = await execute(session, statement, values, 'write')
  return affected > 0
}

/** SQL that compares a column with a bind parameter. @param placeholder of the parameter */
function equals(dataSource: DataSource, column: ColumnMetadata, placeholder: string): string {
  const { equalsAny, operandSql } = dialectOf(dataSource)
  const stored = buildStoredColumn(column, dataSource)
  const sql = columnSql(dataSource, buildReadColumn(column, dataSource))
  return stored === undefined ? `${sql} = ${placeholder}` : equalsAny(stored, sql, [operandSql(stored, placeholder)])
}
