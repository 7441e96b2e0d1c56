import type { ChangeSet, Target } from '../plan/plan'
import type { Resource } from '../schema/registry'
import { heard } from './heard'
import { afterLoad } from './load'
import { plain } from './plain'
import { refuseDelete, refuseWrite } from './refuse-write'
import type { Row } from './row'
import type { Session } from './statement'
import { tree } from './tree'
import type { Writer } from './writer'

/** Inserts one record. @throws {ApiError} `conflict`, `bad-values` */
export async function insertRow(session: Session, resource: Resource, changes: ChangeSet): Promise<Row> {
  const row = await writerOf(resource)
    .insert(session, resource, changes)
    .catch((error: unknown) => refuseWrite(error, session, resource, { changes, stored: undefined }))
  const [loaded = row] = await afterLoad(session, resource, [row])
  return loaded
}

/**
 * Updates one record.
 * @param stored as it was
 * @returns undefined when there is none for the target any more
 * @throws {ApiError} `conflict`, `bad-values`
 */
export async function updateRow(
  session: Session,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
  stored: Row,
): Promise<Row | undefined> {
  const row = await writerOf(resource)
    .update(session, resource, target, changes)
    .catch((error: unknown) => refuseWrite(error, session, resource, { changes, stored }))
  const [loaded] = await afterLoad(session, resource, row === undefined ? [] : [row])
  return loaded
}

/** Deletes one record. @returns whether there was one for the target @throws {ApiError} `conflict` */
export async function deleteRow(session: Session, resource: Resource, target: Target): Promise<boolean> {
  return writerOf(resource)
    .remove(session, resource, target)
    .catch((error: unknown) => refuseDelete(error, session.dataSource, resource))
}

function writerOf({ metadata, lifecycle }: Resource): Writer {
  if (metadata.treeType !== undefined) return tree
  return lifecycle.write ? heard : plain
}
