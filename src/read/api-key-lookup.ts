import type { DataSource } from 'typeorm'
import { principalOf } from '../access/account'
import { parseJson } from '../access/api-keys/api-key'
import type { ApiKeyLookup, StoredApiKey } from '../access/api-keys/api-key-lookup'
import { cachedStatement, collectValues, compile, selectFrom } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { shareReads } from '../connection/shared-read'
import { execute, type RawRow } from '../connection/statement'
import { tableAlias } from '../query/query'
import type { AccountSource } from '../schema/account-source'
import type { ApiKeySource } from '../schema/api-key-source'
import { buildReadColumn, type ReadColumn, type StoredColumn } from '../schema/stored-column'
import { isTrue } from './account-lookup'
import { addJoin } from './join-sql'
import { comparisonColumnSql, selection, toBindParameter, valueReader } from './row'

const keyAlias = tableAlias('key')
const userAlias = tableAlias('account')

/** Reads one value of a row. */
type ReadValue = (raw: RawRow) => unknown

/** Builds the lookup of an API key by its prefix, together with its user: one SELECT. */
export function buildApiKeyFind(
  source: ApiKeySource,
  accounts: AccountSource,
  dataSource: DataSource,
): ApiKeyLookup<DbSession>['find'] {
  const { metadata, prefix: prefixColumn, user } = source
  const cacheKey = `api key ${metadata.name}`
  const selected: [alias: string, column: ReadColumn][] = []
  const add = (alias: string, column: ReadColumn | undefined): ReadValue => {
    if (column === undefined) return () => undefined
    const index = selected.push([alias, column]) - 1
    const read = valueReader(column, dataSource)
    return (raw) => read(raw[index])
  }
  const addUser = (column: AccountSource['admin']): ReadValue =>
    add(userAlias, column && buildReadColumn(column, dataSource))
  const readPrefix = add(keyAlias, prefixColumn)
  const readHash = add(keyAlias, source.hash)
  const readExpires = add(keyAlias, source.expires)
  const readLastUsed = add(keyAlias, source.lastUsed)
  const readPermissions = add(keyAlias, source.permissions)
  const idIndex = selected.length
  const readId = addUser(accounts.key)
  const readAdmin = addUser(accounts.admin)
  const readActive = addUser(accounts.active)
  const properties = accounts.principal.map(({ name, column }) => [name, addUser(column)] as const)

  const readUser = (raw: RawRow): StoredApiKey['user'] => {
    if (raw[idIndex] === null) return undefined
    const id = readId(raw) as string | number
    return {
      active: accounts.active === undefined || isTrue(readActive(raw)),
      principal: () => {
        const readProperties = () => Object.fromEntries(properties.map(([name, read]) => [name, read(raw)]))
        return principalOf({ id, admin: isTrue(readAdmin(raw)), readProperties })
      },
    }
  }
  return shareReads(async (session, prefix) => {
    const { values, bind } = collectValues()
    const parameter = bind(toBindParameter(dataSource, prefixColumn, prefix))
    const statement = cachedStatement(session, cacheKey, () => {
      const builder = selectFrom(dataSource, metadata.target, keyAlias)
      // The columns are SQL expressions because these keep their order: TypeORM 0.3 sorts properties.
      for (const [index, [alias, column]] of selected.entries()) {
        for (const [expression] of selection(dataSource, [column], alias)) builder.addSelect(expression, String(index))
      }
      addJoin(dataSource, builder, { alias: userAlias, from: keyAlias, relation: user, visible: undefined })
      const condition = `${comparisonColumnSql(dataSource, prefixColumn, keyAlias)} = ${parameter}`
      return compile(dataSource, builder.andWhere(condition), values.length)
    })
    const { records } = await execute(session, statement, values)
    // Some databases compare text without regard to trailing spaces.
    const raw = records.find((record) => readPrefix(record) === prefix)
    if (raw === undefined) return undefined
    return {
      hash: readHash(raw),
      expires: readExpires(raw),
      lastUsed: readLastUsed(raw),
      permissions: toPermissions(source.permissions, readPermissions(raw)),
      user: readUser(raw),
    }
  })
}

/** Parses permissions in a text column. Text that is not JSON is returned as it is: it permits nothing. */
function toPermissions(column: StoredColumn | undefined, value: unknown): unknown {
  return column?.valueType.name === 'text' && typeof value === 'string' ? (parseJson(value) ?? value) : value
}
