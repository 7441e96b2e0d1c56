import type { ObjectLiteral } from 'typeorm'
import type { DbTransaction } from '../connection/db-session'
import { pause } from '../connection/pauses'
import type { RawRow } from '../connection/statement'
import { ApiError } from '../errors'
import type { Store } from '../read/store'
import { executeInserts, RejectedRowsError } from './insert-many'
import { readCheckOf } from './readable'
import { refuseWrite } from './refuse-write'
import type { NewRecord } from './write-store'

/** Codes of refusals that concern one record of a request. */
const recordCodes: ReadonlySet<string> = new Set(['bad-values', 'conflict', 'forbidden'])

/**
 * Inserts the entities of several records.
 * @returns the stored rows; fewer if the database rejects records, whose errors then have the reasons
 */
export async function insertEntities(
  session: DbTransaction,
  store: Store,
  records: readonly NewRecord[],
  entities: readonly ObjectLiteral[],
): Promise<readonly RawRow[]> {
  const maxRejected = records[0]?.errors.room ?? 0
  const refuse = async (index: number, rejection: unknown): Promise<void> => {
    const record = records[index]
    if (record === undefined) return
    const { values, presets } = record
    const change = { action: 'create', values, stored: undefined, presets } as const
    await refuseWrite(rejection, session, store, change).catch((refusal: unknown) => addRefusal(record, refusal))
  }
  try {
    const rows = await executeInserts(session, store, entities, maxRejected)
    const requireReadable = readCheckOf(store)
    if (requireReadable === undefined) return rows
    let areReadable = true
    for (const [index, raw] of rows.entries()) {
      try {
        requireReadable(raw)
      } catch (error) {
        areReadable = false
        await refuse(index, error)
      }
      await pause(session)
    }
    return areReadable ? rows : []
  } catch (error) {
    if (!(error instanceof RejectedRowsError)) throw error
    for (const { index, error: rejection } of error.rows) await refuse(index, rejection)
    return []
  }
}

/** Adds the refusal of one record to its errors. @throws any other error */
export function addRefusal({ errors }: NewRecord, error: unknown): void {
  if (!(error instanceof ApiError) || !recordCodes.has(error.code)) throw error
  errors.addRefusal(error)
}
