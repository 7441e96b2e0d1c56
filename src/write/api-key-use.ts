import { LRUCache } from 'lru-cache'
import type { DataSource, EntityMetadata, ObjectLiteral } from 'typeorm'
import type { ApiKeyLookup, StoredApiKey } from '../access/api-keys/api-key-lookup'
import { cachedStatement, collectValues, compile } from '../connection/compile'
import { openSession, type SessionSettings, withPrincipal } from '../connection/db-session'
import { executeWrite } from '../connection/statement'
import { setPath } from '../read/entity'
import { comparisonColumnSql, toBindParameter } from '../read/row'
import type { ApiKeySource } from '../schema/api-key-source'
import type { StoredColumn } from '../schema/stored-column'

/** Minimum time between two writes of the last use of a key, in milliseconds. */
const useIntervalMs = 60_000
/** Number of keys whose last write is remembered. */
const maxRememberedKeys = 10_000
/** Time that a write waits for a connection, in milliseconds. If none is free, requests need them more. */
const useWaitMs = 1000

/**
 * Builds the function that writes the last use of keys. A write that fails is dropped: the next use of the key, a minute
 * later, repeats it. One write runs at a time, so that a full pool is not filled further.
 * @returns undefined if the entity does not store the last use
 */
export function buildNoteUse(
  source: ApiKeySource,
  settings: SessionSettings,
): ApiKeyLookup<unknown>['noteUse'] | undefined {
  const { lastUsed: column } = source
  if (column === undefined) return undefined
  const { dataSource, waitLimit } = settings
  // Requests that arrive before the write have all read the old time.
  const attempts = new LRUCache<string, string>({ max: maxRememberedKeys, ttl: useIntervalMs })
  let isWriting = false
  return (prefix, key) => {
    const { lastUsed } = key
    const now = Date.now()
    const stored = String(lastUsed instanceof Date ? lastUsed.getTime() : lastUsed)
    if (lastUsed instanceof Date && lastUsed.getTime() > now - useIntervalMs) return
    if (isWriting || attempts.get(prefix) === stored || !dataSource.isInitialized) return
    attempts.set(prefix, stored)
    isWriting = true
    const waiting = { ...settings, waitLimit: Math.min(waitLimit, useWaitMs) }
    writeUse(waiting, source, column, prefix, key, now)
      .catch(() => dataSource.logger.log('warn', 'typeorm-resources: the last use of an API key could not be written'))
      // The logger of the application may throw.
      .catch(() => undefined)
      .finally(() => {
        isWriting = false
      })
  }
}

/** Writes the last use of a key, unless another process has written it less than a minute ago. */
async function writeUse(
  settings: SessionSettings,
  { metadata, prefix: prefixColumn }: ApiKeySource,
  column: StoredColumn,
  prefix: string,
  { user }: StoredApiKey,
  now: number,
): Promise<void> {
  const { dataSource } = settings
  const opened = openSession(settings)
  // The write counts as one of the key's user, who could make it wait for a locked record.
  const session = user === undefined ? opened : withPrincipal(opened, user.principal(), undefined)
  const { values, bind } = collectValues()
  const used = bind(dataSource.driver.preparePersistentValue(new Date(now), column.column))
  const parameter = bind(toBindParameter(dataSource, prefixColumn, prefix))
  const before = bind(toBindParameter(dataSource, column, new Date(now - useIntervalMs)))
  const statement = cachedStatement(session, `api key use ${metadata.name}`, () => {
    const set = unchangedColumns(dataSource, metadata)
    setPath(set, column.column.propertyPath, () => used)
    const time = comparisonColumnSql(dataSource, column)
    const builder = dataSource
      .createQueryBuilder()
      .update(metadata.target)
      .set(set)
      .updateEntity(false)
      .where(`${comparisonColumnSql(dataSource, prefixColumn)} = ${parameter}`)
      .andWhere(`(${time} IS NULL OR ${time} <= ${before})`)
    return compile(dataSource, builder, values.length)
  })
  await executeWrite(session, statement, values)
}

/**
 * Assignments that keep the version and the times of a record: the use of a key does not change the key. Without them,
 * TypeORM and `ON UPDATE` of MySQL would set new values.
 */
function unchangedColumns({ driver }: DataSource, { columns }: EntityMetadata): ObjectLiteral {
  const set: ObjectLiteral = {}
  for (const { isVersion, isUpdateDate, onUpdate, propertyPath, databaseName } of columns) {
    if (isVersion || isUpdateDate || onUpdate !== undefined)
      setPath(set, propertyPath, () => driver.escape(databaseName))
  }
  return set
}
