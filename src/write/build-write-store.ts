import type { Store } from '../read/store'
import type { ResourceView } from '../schema/resource-view'
import { directWriter } from './direct-writer'
import { listenerWriter } from './listener-writer'
import { recordingWriter } from './recording-writer'
import { findUncheckedReferences } from './reference-lookups'
import { treeWriter } from './tree/writer'
import { findFieldsWithoutRead } from './update-without-read'
import type { Writer, WriteStore } from './write-store'

/**
 * Builds the write store of a view: its store, the writer for its entity, and what decides how it is written.
 * @param hasPolicies whether policies of the database may hide records: foreign key constraints do not check these
 * @param writeStoreOf returns the store of a related view of the same principal
 */
export function buildWriteStore(
  store: Store,
  hasPolicies: boolean,
  writeStoreOf: WriteStore['writeStoreOf'],
): WriteStore {
  const uncheckedReferences = hasPolicies ? new Set(store.view.references) : findUncheckedReferences(store)
  return {
    ...store,
    writer: recordingWriter(writerOf(store.view)),
    uncheckedReferences,
    fieldsWithoutRead: findFieldsWithoutRead({ ...store, uncheckedReferences }),
    writeStoreOf,
  }
}

function writerOf({ metadata: { treeType, treeParentRelation }, lifecycle }: ResourceView): Writer {
  // An adjacency list without `@TreeParent` has no tree to check.
  const isTree = treeType !== undefined && (treeType !== 'adjacency-list' || treeParentRelation !== undefined)
  if (isTree) return treeWriter
  if (lifecycle.write) return listenerWriter
  return lifecycle.recover ? { ...directWriter, restore: listenerWriter.restore } : directWriter
}
