import type { DataSource } from 'typeorm'
import type { ChangeSet, Target } from '../plan/plan'
import type { Field } from '../schema/field'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import type { Session } from './connection'
import { dialectOf } from './dialect-of'
import { troubleOf } from './fault'
import { mayFailToRead, plain } from './plain'
import { unwatchedReferences } from './reference'
import { WriteError } from './statement'
import type { Written } from './writer'

/**
 * The names in a body that can be written to a record nobody has read before: what is stored of them must not be known, neither to
 * check the new value, nor to leave alone what is shown in other words than it is stored in (specification: Sending back what was read, Date-times).
 */
export const unreadNames = memoize((resource: Resource, dataSource: DataSource): ReadonlySet<string> => {
  if (!isPlain(resource) || !isReturned(resource, dataSource)) return new Set()
  const { inputs, key, owner } = resource
  const checked = [key, ...(owner ? [owner] : []), ...unwatchedReferences(resource, dataSource)]
  const kept = new Set(checked.flatMap(({ columns }) => columns))
  const isOpen = ({ updatable, password, path, kind, columns }: Field): boolean =>
    updatable && !password && path.length === 1 && kind.exact === true && !columns.some((one) => kept.has(one))
  return new Set([...inputs].filter(([, field]) => isOpen(field)).map(([name]) => name))
})

/** Nobody hears of a write, asks for the whole record, or counts how often it was written. */
function isPlain({ metadata, lifecycle, validate, requireIfMatch, owner }: Resource): boolean {
  const { tableType, treeType, columns } = metadata
  const isCounted = columns.some(({ isVersion, isUpdateDate, onUpdate }) => isVersion || isUpdateDate || onUpdate)
  if (tableType !== 'regular' || treeType !== undefined || isCounted) return false
  if (lifecycle.load || lifecycle.write || validate !== undefined || requireIfMatch) return false
  // The statement compares the owner, and text that differs may be equal to the database.
  return owner === undefined || owner.kind.wide !== undefined
}

function isReturned(resource: Resource, dataSource: DataSource): boolean {
  return !mayFailToRead(resource) && dialectOf(dataSource).returning(dataSource, 'update')
}

/**
 * Updates a record of which nothing has been read, by one statement.
 * @returns undefined where nothing was written: there is none for the target, or the database has something against the statement
 */
export async function updateUnread(
  session: Session,
  resource: Resource,
  target: Target,
  changes: ChangeSet,
): Promise<Written | undefined> {
  try {
    return await plain.update(session, resource, target, changes)
  } catch (error) {
    if (!(error instanceof WriteError)) throw error
    if (troubleOf(error.cause, session.dataSource) !== undefined) throw error.cause
    return undefined
  }
}
