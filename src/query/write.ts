import type { ChangeSet, Target } from '../plan/plan'
import type { Resource } from '../schema/registry'
import type { Session } from './connection'
import { requireState } from './entity-tag'
import { heard } from './heard'
import { plain } from './plain'
import { refuseDelete, refuseWrite } from './refuse-write'
import type { Row } from './row'
import { transact } from './statement'
import { tree } from './tree'
import type { Writer } from './writer'

/** Inserts one record. @returns it as it is stored @throws {ApiError} `conflict`, `bad-values` */
export async function insertRow(session: Session, resource: Resource, changes: ChangeSet): Promise<Row> {
  return writerOf(resource)
    .insert(session, resource, changes)
    .catch((error: unknown) => refuseWrite(error, session, resource, { changes, stored: undefined }))
}

/**
 * Updates one record.
 * @param stored as it was
 * @returns it as it is stored; undefined when there is none for the target any more
 * @throws {ApiError} `conflict`, `bad-values`, `precondition-failed`
 */
export async function updateRow(
  session: Session,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
  stored: Row,
): Promise<Row | undefined> {
  const update = (inner: Session) => writerOf(resource).update(inner, resource, target, changes)
  return inState(session, resource, target, update).catch((error: unknown) =>
    refuseWrite(error, session, resource, { changes, stored }),
  )
}

/**
 * Deletes one record.
 * @returns whether there was one for the target
 * @throws {ApiError} `conflict`, `precondition-failed`
 */
export async function deleteRow(session: Session, resource: Resource, target: Target): Promise<boolean> {
  const remove = (inner: Session) => writerOf(resource).remove(inner, resource, target)
  return inState(session, resource, target, remove).catch((error: unknown) =>
    refuseDelete(error, session.dataSource, resource),
  )
}

/** Writes a record only in the state that the client means, in one transaction with the check. */
function inState<T>(
  session: Session,
  resource: Resource,
  target: Target,
  write: (session: Session) => Promise<T>,
): Promise<T> {
  if (target.ifMatch === undefined) return write(session)
  return transact(session, async (inner) => {
    await requireState(inner, resource, target)
    return write(inner)
  })
}

function writerOf({ metadata, lifecycle }: Resource): Writer {
  if (metadata.treeType !== undefined) return tree
  return lifecycle.write ? heard : plain
}
