import type { DbTransaction } from '../../connection/db-session'
import type { RawRow } from '../../connection/statement'
import { parentText } from '../../read/included'
import { matchingIds } from '../../read/matching-keys'
import { readNestedKeys } from '../../read/nested-keys'
import { keyId } from '../../read/row'
import type { RowLock } from '../../read/row-lock'
import { hasRowConditions, readItemsInOrder } from '../../read/select'
import { type SelectedColumns, type Store, withOwners } from '../../read/store'
import { ChangedError } from '../changed-error'
import { lockTarget } from '../lock-target'
import { isOwnedBy } from '../target-condition'
import type { WriteStore, WriteTarget } from '../write-store'
import { isChanged, membersOf, type PlannedList, type PlannedRecord, recordsIn } from './planned'

/** Stored row of a planned record. */
export type LockedRows = ReadonlyMap<PlannedRecord, RawRow>

/**
 * Locks the stored records that a planned write changes or deletes. Checks that the principal may still write them, and that
 * the values that decide the write have not changed since it was planned.
 * @param maxRecords maximum number of related records that are compared
 * @returns the rows; undefined if the record of the request does not exist any more, has another owner, or the principal
 * may not see it or write it
 * @throws {ChangedError} if related records have changed
 * @throws {ApiError} `precondition-failed`
 */
export async function lockPlanned(
  session: DbTransaction,
  root: PlannedRecord,
  maxRecords: number,
): Promise<LockedRows | undefined> {
  await lockTrees(session, root)
  if (root.target === undefined) return new Map()
  const locked = await lockTarget(session, root.store, root.target)
  if (locked === undefined) return undefined
  const rows = new Map([[root, locked.raw]])
  for (let parents: readonly PlannedRecord[] = [root]; parents.length > 0; ) {
    const children: PlannedRecord[] = []
    for (const lists of membersOf(parents, 'list')) {
      await requireSameRecords(session, lists, rows, maxRecords)
      await lockChildren(
        session,
        lists.map(([, list]) => list),
        rows,
      )
      children.push(...lists.flatMap(([, list]) => list.updates))
    }
    parents = children
  }
  return rows
}

/**
 * Locks the trees whose nodes are written, before any other statement: see `lockTreesOf`. Writes of single nodes also lock first the tree
 * and then the nodes.
 */
async function lockTrees(session: DbTransaction, root: PlannedRecord): Promise<void> {
  const records = recordsIn(root)
  const written = records.filter(({ change, target }) => target === undefined || change.values.size > 0)
  const lists = records.flatMap(({ members }) => members.filter((member) => member.type === 'list'))
  const withDeletes = lists.filter(({ deletes }) => deletes.length > 0)
  const stores = new Set([...written, ...withDeletes].map(({ store }) => store))
  for (const store of stores) await store.writer.lockTable?.(session, store)
}

type ParentList = readonly [parent: PlannedRecord, list: PlannedList]

/** @throws {ChangedError} if a list that is replaced has other records than when the write was planned */
async function requireSameRecords(
  session: DbTransaction,
  lists: readonly ParentList[],
  rows: LockedRows,
  maxRecords: number,
): Promise<void> {
  const replaced = lists.flatMap(([parent, list]) => {
    const raw = rows.get(parent)
    return raw === undefined || list.replaced === undefined ? [] : [{ parent, list, raw, keys: list.replaced }]
  })
  const [first] = replaced
  if (first === undefined) return
  const { store } = first.parent
  const { relation, store: related } = first.list
  const textOf = parentText(store)
  const parents = new Map(replaced.map(({ raw }) => [textOf(raw), store.readKey(raw)]))
  const stored = await readNestedKeys(session, { store: related, relation, parent: store, keys: parents }, maxRecords)
  for (const { raw, keys } of replaced) {
    const now = new Set((stored.get(textOf(raw)) ?? []).map((key) => keyId(related.view, key)))
    if (now.size !== keys.length || !keys.every((key) => now.has(keyId(related.view, key)))) throw new ChangedError()
  }
}

/** @param rows receives the rows of the records that are updated */
async function lockChildren(
  session: DbTransaction,
  lists: readonly PlannedList[],
  rows: Map<PlannedRecord, RawRow>,
): Promise<void> {
  const [first] = lists
  if (first === undefined) return
  const { store } = first
  const updates = lists.flatMap((list) => list.updates)
  const deleted = lists.flatMap((list) => list.deletes)
  const targets = updates.flatMap(({ target }) => target ?? [])
  const locked = await lockTargets(session, store, targets, 'entityColumns', 'update')
  for (const [index, target] of targets.entries()) {
    const [raw, record] = [locked.get(target), updates[index]]
    if (raw === undefined || record === undefined) continue
    target.requireUnchanged?.(raw)
    rows.set(record, raw)
  }
  const owners = withOwners(store)
  const lockedOwners = await lockTargets(session, owners, deleted, 'columns', 'delete')
  const changed = updates.flatMap((record) => (record.target && isChanged(record) ? [record.target] : []))
  requireSameOwner(store, store.selected.entityColumns, changed, locked)
  requireSameOwner(owners, owners.selected.columns, deleted, lockedOwners)
  await requireStillWritable(session, store, changed)
  await requireStillWritable(session, store, deleted)
}

/** Locks the records of targets. @throws {ChangedError} if one of them does not exist any more */
async function lockTargets(
  session: DbTransaction,
  store: Store,
  targets: readonly WriteTarget[],
  select: 'columns' | 'entityColumns',
  lock: RowLock,
): Promise<ReadonlyMap<WriteTarget, RawRow>> {
  if (targets.length === 0) return new Map()
  const keys = targets.map(({ key }) => key)
  const rows = await readItemsInOrder(session, store, keys, select, { condition: 'none', lock })
  return new Map(
    targets.map((target, index) => {
      const raw = rows[index]
      if (raw === undefined) throw new ChangedError()
      return [target, raw]
    }),
  )
}

/** @throws {ChangedError} if a record has another owner than when the write was planned */
function requireSameOwner(
  { view }: Store,
  { readRow }: SelectedColumns,
  targets: readonly WriteTarget[],
  rows: ReadonlyMap<WriteTarget, RawRow>,
): void {
  if (view.owner === undefined) return
  for (const target of targets) {
    const raw = rows.get(target)
    if (raw === undefined || !isOwnedBy(view, readRow(raw), target.owner)) throw new ChangedError()
  }
}

/**
 * Checks the row scope and the permission with a statement of its own: PostgreSQL evaluates the subqueries of a statement
 * that has waited for a lock with the data from before the wait.
 * @throws {ChangedError} if the principal may not write one of the records any more
 */
async function requireStillWritable(
  session: DbTransaction,
  store: WriteStore,
  targets: readonly WriteTarget[],
): Promise<void> {
  const [first] = targets
  if (first === undefined || !hasRowConditions(store, first.action)) return
  const keys = targets.map(({ key }) => key)
  const ids = await matchingIds(session, store, keys, { action: first.action, state: 'before' })
  if (!keys.every((key) => ids.has(keyId(store.view, key)))) throw new ChangedError()
}
