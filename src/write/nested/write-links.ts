import type { DbTransaction } from '../../connection/db-session'
import { type RawRow, WriteError } from '../../connection/statement'
import { violationOf } from '../../dialect/dialect-of'
import { ApiError } from '../../errors'
import { parentText } from '../../read/included'
import { readNestedKeys } from '../../read/nested-keys'
import { keyId } from '../../read/row'
import type { Store } from '../../read/store'
import { ChangedError } from '../changed-error'
import { deleteLinks, insertLinks, type Link } from './links'
import type { PlannedLinks } from './planned'

/** Record whose links are written. */
export interface LinkedRecord {
  readonly key: unknown
  /** The stored row; undefined for a new record. */
  readonly raw: RawRow | undefined
  readonly member: PlannedLinks
}

/**
 * Sets the related records of several records by the same many-to-many relation: inserts and deletes the rows of the
 * junction table in which they differ. Links to records that the principal may not see are left as they are.
 * @param store of the records
 * @param maxRecords maximum number of stored links that are compared
 * @returns the keys of the related records that were linked
 * @throws {ApiError} `conflict` if there are too many stored links
 * @throws {ChangedError} if another request has changed the links or deleted a related record
 */
export async function writeLinks(
  session: DbTransaction,
  store: Store,
  records: readonly LinkedRecord[],
  maxRecords: number,
): Promise<readonly unknown[]> {
  const [first] = records
  if (first === undefined) return []
  const { relation, store: related } = first.member
  const { target, junction } = relation
  const textOf = parentText(store)
  const texts = records.map(({ raw }) => raw && textOf(raw))
  const stored = records.flatMap(({ key }, index) => (texts[index] === undefined ? [] : [[texts[index], key] as const]))
  const lists = { store: related, relation, parent: store, keys: new Map(stored) }
  const linked = await readNestedKeys(session, lists, maxRecords)
  const links = { junction, store, related }
  const added: Link[] = []
  for (const [index, { key, member }] of records.entries()) {
    const text = texts[index]
    const present = new Map(
      (text === undefined ? [] : (linked.get(text) ?? [])).map((one) => [keyId(target, one), one]),
    )
    const wanted = new Map(member.keys.map((one) => [keyId(target, one.key), one.key]))
    const removed = [...present].flatMap(([id, one]) => (wanted.has(id) ? [] : [one]))
    const missing = [...wanted].flatMap(([id, one]) => (present.has(id) ? [] : [one]))
    // The owner and the permission of a record with unchanged links were not checked.
    if (member.isUnchanged && removed.length + missing.length > 0) throw new ChangedError()
    await deleteLinks(session, links, key, removed)
    for (const one of missing) added.push([key, one])
  }
  await insertLinks(session, links, added).catch((error: unknown) => {
    if (!(error instanceof WriteError)) throw error
    const kind = violationOf(error.cause, session.dataSource, junction.metadata)?.kind
    // Another request has added the same link, or deleted one of the records.
    if (kind === 'unique' || kind === 'reference') throw new ChangedError()
    if (kind === 'rowPolicy') throw new ApiError('forbidden', `you may not add these links to ${store.view.name}`)
    if (kind !== undefined)
      throw new ApiError('bad-values', `the database does not accept these links of ${store.view.name}`)
    throw error.cause
  })
  return added.map(([, key]) => key)
}
