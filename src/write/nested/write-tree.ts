import type { DbSession, DbTransaction } from '../../connection/db-session'
import { pause } from '../../connection/pauses'
import type { RawRow } from '../../connection/statement'
import { FieldErrors } from '../../errors'
import type { ChangeSet } from '../../query/query'
import type { Change } from '../change'
import { ChangedError } from '../changed-error'
import { refuseDelete, refuseWrite } from '../refuse-write'
import type { WriteTarget } from '../write-store'
import type { LockedRows } from './lock'
import { parentKeyValues } from './parent-key'
import { membersOf, type PlannedLinks, type PlannedList, type PlannedRecord } from './planned'
import { writeLinks } from './write-links'

/** Record that was written, or whose related records were written. */
export interface WrittenNode {
  readonly record: PlannedRecord
  /** The planned change; for a new related record, with the key of its parent. */
  readonly change: Change
  readonly key: unknown
  /** The row after the write; undefined if the record itself was not written. */
  readonly raw: RawRow | undefined
}

/** Records and links that a planned write has written. */
export interface WrittenTree {
  readonly root: WrittenNode
  /** All records, also the root. */
  readonly nodes: readonly WrittenNode[]
  /** The keys of records that were linked, by the members of the bodies. */
  readonly links: readonly { readonly members: readonly PlannedLinks[]; readonly keys: readonly unknown[] }[]
}

/** Error of the write of one record, before the reason is found out: this needs further statements. */
export class FailedWrite extends Error {
  /**
   * @param path of the record in the body
   * @param refuse throws the refusal, or the error itself
   */
  constructor(
    readonly path: string,
    readonly refuse: (session: DbSession) => Promise<never>,
  ) {
    super('a record of a nested write cannot be written')
  }
}

/**
 * Writes a record, then its related records: those that the body does not contain are deleted first, then others are
 * updated and created.
 * @param rows the stored rows, which are locked
 * @throws {FailedWrite} if a record cannot be written
 * @throws {ChangedError} if a record does not exist any more
 */
export async function writeTree(
  session: DbTransaction,
  root: PlannedRecord,
  rows: LockedRows,
  maxRecords: number,
): Promise<WrittenTree> {
  const { store } = root
  const rootNode = root.target === undefined ? await insertRecord(session, root) : await updateRecord(session, root)
  const nodes = [rootNode]
  const links: WrittenTree['links'][number][] = []
  for (let parents: readonly WrittenNode[] = [rootNode]; parents.length > 0; ) {
    const keys = new Map(parents.map(({ record, key }) => [record, key]))
    const records = [...keys.keys()]
    const children: WrittenNode[] = []
    for (const lists of membersOf(records, 'list')) {
      children.push(...(await writeLists(session, lists, keys)))
    }
    for (const group of membersOf(records, 'links')) {
      const linked = group.map(([record, member]) => ({ key: keys.get(record), raw: rows.get(record), member }))
      const added = await writeLinks(session, group[0]?.[0].store ?? store, linked, maxRecords)
      links.push({ members: group.map(([, member]) => member), keys: added })
    }
    nodes.push(...children)
    parents = children
  }
  return { root: rootNode, nodes, links }
}

/** Writes the related records of several parents. @param keys keys of the parents */
async function writeLists(
  session: DbTransaction,
  lists: readonly (readonly [parent: PlannedRecord, list: PlannedList])[],
  keys: ReadonlyMap<PlannedRecord, unknown>,
): Promise<readonly WrittenNode[]> {
  await removeRecords(
    session,
    lists.map(([, list]) => list),
  )
  const nodes: WrittenNode[] = []
  const updates = lists.flatMap(([, list]) => list.updates)
  for (const record of updates) {
    await pause(session)
    nodes.push(await updateRecord(session, record))
  }
  const created = lists.flatMap(([parent, { creates, relation }]) => {
    const ofParent = parentKeyValues(relation, parent.store.view, keys.get(parent))
    return creates.map((record) => ({ record, change: withParentKey(record.change, ofParent) }))
  })
  return [...nodes, ...(await insertRecords(session, created))]
}

function withParentKey(change: Change, ofParent: ChangeSet): Change {
  const values = new Map([...change.values, ...ofParent])
  return { ...change, values, presets: new Map([...(change.presets ?? []), ...ofParent]) }
}

/** Deletes the records of several parents, all with one statement if there are no listeners. */
async function removeRecords(session: DbTransaction, lists: readonly PlannedList[]): Promise<void> {
  const first = lists.find(({ deletes }) => deletes.length > 0)
  const targets = lists.flatMap(({ deletes }) => deletes)
  const [target] = targets
  if (first === undefined || target === undefined) return
  const { store, path } = first
  const keys = targets.map(({ key }) => key)
  // The principal is the owner of all of them.
  await store.writer.removeMany(session, store, { keys, owner: target.owner }).catch((error: unknown) => {
    // If several lists lose records, the database does not say which record it is: the path is that of the first list.
    throw new FailedWrite(path, async () => refuseDelete(error, store))
  })
}

/** Inserts new records of the same resource, in their order. @throws {ApiError} with the errors of all records */
async function insertRecords(
  session: DbTransaction,
  created: readonly { readonly record: PlannedRecord; readonly change: Change }[],
): Promise<readonly WrittenNode[]> {
  const [first] = created
  if (first === undefined) return []
  const { store } = first.record
  const errors = new FieldErrors()
  const records = created.map(({ record: { path }, change: { values, presets } }) => {
    return { values, presets, errors: errors.within(path) }
  })
  const rows = await store.writer.insertMany(session, store, records)
  errors.raise('bad-values')
  return created.map(({ record, change }, index) => {
    const raw = rows[index]
    if (raw === undefined) throw new Error(`INSERT into ${store.view.metadata.tableName} returned too few rows`)
    return { record, change, key: store.readKey(raw), raw }
  })
}

async function insertRecord(session: DbTransaction, record: PlannedRecord): Promise<WrittenNode> {
  const { store, change } = record
  const { raw } = await store.writer
    .insert(session, store, change.values)
    .catch((error: unknown) => failWrite(error, record))
  return { record, change, key: store.readKey(raw), raw }
}

async function updateRecord(session: DbTransaction, record: PlannedRecord): Promise<WrittenNode> {
  const { store, change, target } = record
  if (target === undefined) throw new Error('an update has a target')
  const node = { record, change, key: target.key }
  if (change.values.size === 0) return { ...node, raw: undefined }
  const written = await store.writer
    .update(session, store, lockedTarget(target), change.values)
    .catch((error: unknown) => failWrite(error, record))
  if (written === undefined) throw new ChangedError()
  return { ...node, raw: written.raw }
}

/** The target of a record that the transaction has locked and checked. */
function lockedTarget(target: WriteTarget): WriteTarget {
  return { ...target, requireUnchanged: undefined, isLocked: true }
}

function failWrite(error: unknown, { path, store, change }: PlannedRecord): never {
  throw new FailedWrite(path, (session) => refuseWrite(error, session, store, change))
}
