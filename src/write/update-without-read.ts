import type { DataSource } from 'typeorm'
import { transientErrorOf } from '../connection/database-error'
import type { DbSession } from '../connection/db-session'
import { WriteError } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import type { ChangeSet, WriteTarget } from '../query/query'
import type { Field } from '../schema/field'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import { directWriter, mayFailToRead } from './direct-writer'
import { unwatchedReferences } from './references'
import type { WrittenRecord } from './writer'

/**
 * The names in a body that can be written to a record nobody has read before: what is stored of them must not be known, neither to
 * check the new value, nor to leave alone what is shown in other words than it is stored in (specification: Sending back what was read, Date-times).
 */
export const fieldsWithoutRead = memoize((resource: Resource, dataSource: DataSource): ReadonlySet<string> => {
  if (!isPlain(resource) || !isReturned(resource, dataSource)) return new Set()
  const { writableFields, key, owner } = resource
  const checked = [key, ...(owner ? [owner] : []), ...unwatchedReferences(resource, dataSource)]
  const kept = new Set(checked.flatMap(({ columns }) => columns))
  const isOpen = ({ updatable, password, path, valueType, columns }: Field): boolean =>
    updatable && !password && path.length === 1 && valueType.exact === true && !columns.some((one) => kept.has(one))
  return new Set([...writableFields].filter(([, field]) => isOpen(field)).map(([name]) => name))
})

/** Nobody hears of a write, asks for the whole record, or counts how often it was written. */
function isPlain({ metadata, lifecycle, validate, requireIfMatch, owner }: Resource): boolean {
  const { tableType, treeType, columns } = metadata
  const isCounted = columns.some(({ isVersion, isUpdateDate, onUpdate }) => isVersion || isUpdateDate || onUpdate)
  if (tableType !== 'regular' || treeType !== undefined || isCounted) return false
  if (lifecycle.load || lifecycle.write || validate !== undefined || requireIfMatch) return false
  // The statement compares the owner, and text that differs may be equal to the database.
  return owner === undefined || owner.valueType.name === 'integer'
}

function isReturned(resource: Resource, dataSource: DataSource): boolean {
  return !mayFailToRead(resource) && dialectOf(dataSource).returning(dataSource, 'update')
}

/**
 * Updates a record of which nothing has been read, by one statement.
 * @returns undefined where nothing was written: there is none for the target, or the database has something against the statement
 */
export async function updateWithoutRead(
  session: DbSession,
  resource: Resource,
  target: WriteTarget,
  changes: ChangeSet,
): Promise<WrittenRecord | undefined> {
  try {
    return await directWriter.update(session, resource, target, changes)
  } catch (error) {
    if (!(error instanceof WriteError)) throw error
    if (transientErrorOf(error.cause, session.dataSource) !== undefined) throw error.cause
    return undefined
  }
}
