import type { DbSession } from '../connection/db-session'
import { transact } from '../connection/statement'
import type { ChangeSet, WriteTarget } from '../query/query'
import { afterLoad } from '../read/after-load'
import { recordRenderer } from '../read/record'
import { type Row, rowReaderOf } from '../read/row'
import type { Resource } from '../schema/registry'
import { directWriter } from './direct-writer'
import { listenerWriter } from './listener-writer'
import { refuseDelete, refuseWrite } from './refuse-write'
import { treeWriter } from './tree/writer'
import type { Writer, WrittenRecord } from './writer'

/** Inserts one record. @throws {ApiError} `conflict`, `bad-values` */
export async function insertRow(session: DbSession, resource: Resource, changes: ChangeSet): Promise<WrittenRecord> {
  const insert = async (inner: DbSession): Promise<WrittenRecord> =>
    loadSaved(inner, resource, await writerOf(resource).insert(inner, resource, changes))
  return transactIfLoaded(session, resource, insert).catch((error: unknown) =>
    refuseWrite(error, session, resource, { changes, stored: undefined }),
  )
}

/**
 * Updates one record.
 * @param stored the record before the write
 * @returns undefined if there is no record for the target any more
 * @throws {ApiError} `conflict`, `bad-values`, `precondition-failed`
 */
export async function updateRow(
  session: DbSession,
  resource: Resource,
  target: WriteTarget,
  changes: ChangeSet,
  stored: Row,
): Promise<WrittenRecord | undefined> {
  const update = async (inner: DbSession): Promise<WrittenRecord | undefined> => {
    const written = await writerOf(resource).update(inner, resource, target, changes)
    return written && loadSaved(inner, resource, written)
  }
  return transactIfLoaded(session, resource, update).catch((error: unknown) =>
    refuseWrite(error, session, resource, { changes, stored }),
  )
}

/**
 * Deletes one record.
 * @returns whether there was a record for the target
 * @throws {ApiError} `conflict`, `precondition-failed`
 */
export async function deleteRow(session: DbSession, resource: Resource, target: WriteTarget): Promise<boolean> {
  return writerOf(resource)
    .remove(session, resource, target)
    .catch((error: unknown) => refuseDelete(error, session.dataSource, resource))
}

/**
 * Runs a write. If the entity has `@AfterLoad` listeners, the write, the listeners and the rendering of the response
 * run in one transaction, so that an error in one of them rolls the write back.
 */
function transactIfLoaded<T>(
  session: DbSession,
  resource: Resource,
  write: (session: DbSession) => Promise<T>,
): Promise<T> {
  return resource.lifecycle.load ? transact(session, write) : write(session)
}

async function loadSaved(session: DbSession, resource: Resource, written: WrittenRecord): Promise<WrittenRecord> {
  if (!resource.lifecycle.load) return written
  const row = rowReaderOf(resource.columns, session.dataSource)(written.raw)
  const [shown = row] = await afterLoad(session, resource, [row])
  return renderAfterLoad(resource, written, shown)
}

/** Replaces the JSON of a record by that of the row after `@AfterLoad`. The ETag remains that of the stored row. */
export function renderAfterLoad(resource: Resource, written: WrittenRecord, shown: Row): WrittenRecord {
  return { ...written, json: JSON.stringify(recordRenderer(resource)(shown)) }
}

function writerOf({ metadata, lifecycle }: Resource): Writer {
  if (metadata.treeType !== undefined) return treeWriter
  return lifecycle.write ? listenerWriter : directWriter
}
