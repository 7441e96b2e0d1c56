import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { type Bind, cachedStatement, collectValues, compile, selectFrom } from '../connection/compile'
import { transientErrorOf } from '../connection/database-error'
import type { DbSession, DbTransaction } from '../connection/db-session'
import { execute, type RawRow } from '../connection/statement'
import { dialectOf, violationOf } from '../dialect/dialect-of'
import { tableAlias } from '../query/query'
import { columnSql, selection, valueReader } from '../read/row'
import { type IdempotencyKey, idempotencyMetadata, type StoredResponse } from '../schema/idempotency-key'
import { buildReadColumn, type ReadColumn } from '../schema/stored-column'

/** A stored response, and the request that it belongs to. */
export interface StoredRequest {
  readonly fingerprint: string
  /** Null while the write is running. */
  readonly response: StoredResponse | null
  /** In milliseconds since 1970. */
  readonly expires: number
}

/** The table of the responses to writes with the header `Idempotency-Key`. */
export interface StoredResponses {
  /**
   * Inserts a key. Until this transaction ends, others that insert the same key wait.
   * @throws {KeyTakenError}
   */
  readonly insert: (session: DbTransaction, id: string, request: Omit<StoredRequest, 'response'>) => Promise<void>
  /** Stores the response for a key that this transaction has inserted. */
  readonly store: (session: DbTransaction, id: string, response: StoredResponse) => Promise<void>
  readonly find: (session: DbSession, id: string) => Promise<StoredRequest | undefined>
  /** Finds keys that have expired, by the index on the time. */
  readonly findExpired: (session: DbSession, now: number, limit: number) => Promise<readonly string[]>
  /** Deletes the keys with these ids that have expired. */
  readonly deleteExpired: (session: DbSession, ids: readonly string[], now: number) => Promise<void>
}

/** Thrown if another transaction has inserted the same key. */
export class KeyTakenError extends Error {
  override readonly name = 'KeyTakenError'
  /** @param isRunning whether the other transaction has not ended within the time limit of a statement */
  constructor(readonly isRunning: boolean) {
    super('another transaction has inserted the same Idempotency-Key')
  }
}

const alias = tableAlias('key')

/** @returns undefined if the data source does not have the entity */
export function buildStoredResponses(dataSource: DataSource): StoredResponses | undefined {
  const metadata = idempotencyMetadata(dataSource)
  if (metadata === undefined) return undefined
  const dialect = dialectOf(dataSource)
  const column = (property: keyof IdempotencyKey): ReadColumn => {
    const found = metadata.columns.find(({ propertyName }) => propertyName === property)
    if (found === undefined) throw new TypeError(`IdempotencyKey has no column ${property}`)
    return buildReadColumn(found, dataSource)
  }
  const columns = {
    id: column('id'),
    fingerprint: column('fingerprint'),
    response: column('response'),
    expires: column('expires'),
  }
  type Property = keyof typeof columns
  const nameOf = (property: Property, table?: string): string => columnSql(dataSource, columns[property], table)
  const toSet = (bind: Bind, values: Partial<Record<Property, unknown>>): ObjectLiteral =>
    Object.fromEntries(
      Object.entries(values).map(([property, value]) => {
        const { column: stored } = columns[property as Property]
        const prepared = dialect.toStoredValue(stored, dataSource.driver.preparePersistentValue(value, stored))
        const placeholder = bind(prepared)
        return [property, () => dialect.assignmentSql(stored, placeholder)]
      }),
    )
  /** Runs a SELECT of some columns. */
  const select = async (
    session: DbSession,
    key: string,
    selected: readonly Property[],
    values: readonly unknown[],
    restrict: (builder: SelectQueryBuilder<ObjectLiteral>) => unknown,
  ): Promise<readonly RawRow[]> => {
    const statement = cachedStatement(session, `idempotency ${key}`, () => {
      const builder = selectFrom(dataSource, metadata.target, alias)
      const read = selected.map((property) => columns[property])
      for (const [expression, position] of selection(dataSource, read, alias)) builder.addSelect(expression, position)
      restrict(builder)
      return compile(dataSource, builder, values.length)
    })
    return (await execute(session, statement, values)).records
  }
  const readers = {
    fingerprint: valueReader(columns.fingerprint, dataSource),
    response: valueReader(columns.response, dataSource),
    expires: valueReader(columns.expires, dataSource),
  }
  return {
    insert: async (session, id, request) => {
      const { values, bind } = collectValues()
      const set = toSet(bind, { id, ...request })
      const statement = cachedStatement(session, 'idempotency insert', () => {
        const builder = dataSource.createQueryBuilder().insert().into(metadata.target).values(set)
        return compile(dataSource, builder.updateEntity(false), values.length)
      })
      await execute(session, statement, values).catch((error: unknown) => {
        if (violationOf(error, dataSource, metadata)?.kind === 'unique') throw new KeyTakenError(false)
        // This INSERT waits only for another transaction that has inserted the same key.
        throw transientErrorOf(error, dataSource) === 'timeout' ? new KeyTakenError(true) : error
      })
    },
    store: async (session, id, response) => {
      const { values, bind } = collectValues()
      const set = toSet(bind, { response })
      const key = bind(id)
      const statement = cachedStatement(session, 'idempotency store', () => {
        const builder = dataSource.createQueryBuilder().update(metadata.target).set(set).updateEntity(false)
        return compile(dataSource, builder.where(`${nameOf('id')} = ${key}`), values.length)
      })
      await execute(session, statement, values)
    },
    find: async (session, id) => {
      const { values, bind } = collectValues()
      const key = bind(id)
      const [raw] = await select(session, 'find', ['fingerprint', 'response', 'expires'], values, (builder) =>
        builder.where(`${nameOf('id', alias)} = ${key}`),
      )
      if (raw === undefined) return undefined
      return {
        fingerprint: String(readers.fingerprint(raw[0])),
        response: readers.response(raw[1]) as StoredRequest['response'],
        expires: Number(readers.expires(raw[2])),
      }
    },
    findExpired: async (session, now, limit) => {
      const { values, bind } = collectValues()
      const time = bind(now)
      const rows = await select(session, `expired ${limit}`, ['id'], values, (builder) =>
        builder
          .where(`${nameOf('expires', alias)} <= ${time}`)
          .orderBy(nameOf('expires', alias))
          .limit(limit),
      )
      return rows.map((raw) => String(raw[0]))
    },
    deleteExpired: async (session, ids, now) => {
      const { values, bind } = collectValues()
      const keys = ids.map((id) => bind(id)).join(', ')
      const time = bind(now)
      const statement = cachedStatement(session, `idempotency delete ${ids.length}`, () => {
        const builder = dataSource.createQueryBuilder().delete().from(metadata.target)
        // In the meantime, another request may have used the key again.
        const condition = `${nameOf('id')} IN (${keys}) AND ${nameOf('expires')} <= ${time}`
        return compile(dataSource, builder.where(condition), values.length)
      })
      await execute(session, statement, values, 'write')
    },
  }
}
