import type { ChangeSet, Target } from '../plan/plan'
import type { Resource } from '../schema/registry'
import type { Session } from './connection'
import { heard } from './heard'
import { afterLoad } from './load'
import { plain } from './plain'
import { refuseDelete, refuseWrite } from './refuse-write'
import { type Row, readerOf } from './row'
import { transact } from './statement'
import { tree } from './tree'
import type { Writer, Written } from './writer'

export interface Saved extends Written {
  /** As its listeners show it, where there are any. */
  readonly shown?: Row
}

/** Inserts one record. @throws {ApiError} `conflict`, `bad-values` */
export async function insertRow(session: Session, resource: Resource, changes: ChangeSet): Promise<Saved> {
  const insert = async (inner: Session): Promise<Saved> =>
    load(inner, resource, await writerOf(resource).insert(inner, resource, changes))
  return loadedWith(session, resource, insert).catch((error: unknown) =>
    refuseWrite(error, session, resource, { changes, stored: undefined }),
  )
}

/**
 * Updates one record.
 * @param stored as it was
 * @returns undefined when there is none for the target any more
 * @throws {ApiError} `conflict`, `bad-values`, `precondition-failed`
 */
export async function updateRow(
  session: Session,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
  stored: Row,
): Promise<Saved | undefined> {
  const update = async (inner: Session): Promise<Saved | undefined> => {
    const written = await writerOf(resource).update(inner, resource, target, changes)
    return written && load(inner, resource, written)
  }
  return loadedWith(session, resource, update).catch((error: unknown) =>
    refuseWrite(error, session, resource, { changes, stored }),
  )
}

/**
 * Deletes one record.
 * @returns whether there was one for the target
 * @throws {ApiError} `conflict`, `precondition-failed`
 */
export async function deleteRow(session: Session, resource: Resource, target: Target): Promise<boolean> {
  return writerOf(resource)
    .remove(session, resource, target)
    .catch((error: unknown) => refuseDelete(error, session.dataSource, resource))
}

/** What a listener of loading throws takes the write back: it is in one transaction with it. */
function loadedWith<T>(session: Session, resource: Resource, write: (session: Session) => Promise<T>): Promise<T> {
  return resource.lifecycle.load ? transact(session, write) : write(session)
}

async function load(session: Session, resource: Resource, written: Written): Promise<Saved> {
  if (!resource.lifecycle.load) return written
  const row = readerOf(resource.row, session.dataSource)(written.raw)
  const [shown = row] = await afterLoad(session, resource, [row])
  return { ...written, shown }
}

function writerOf({ metadata, lifecycle }: Resource): Writer {
  if (metadata.treeType !== undefined) return tree
  return lifecycle.write ? heard : plain
}
