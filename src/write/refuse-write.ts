import type { DataSource } from 'typeorm'
import type { DbSession } from '../connection/db-session'
import { WriteError } from '../connection/statement'
import type { ConstraintViolation } from '../dialect/dialect'
import { violationOf } from '../dialect/dialect-of'
import { ApiError, FieldErrors } from '../errors'
import type { ChangeSet } from '../query/query'
import { UnreadableError } from '../read/row'
import type { Resource } from '../schema/registry'
import { checkReferences, type WrittenFields } from './references'

/**
 * Says what the database had against an INSERT or UPDATE (specification: Error documents, Foreign keys).
 * @throws {ApiError} `conflict`, `bad-values`; or the error itself, when it is not the statement's, or no constraint speaks
 * from it
 */
export async function refuseWrite(
  error: unknown,
  session: DbSession,
  resource: Resource,
  written: WrittenFields,
): Promise<never> {
  if (error instanceof UnreadableError) throw unreadable(error, written.changes)
  if (!(error instanceof WriteError)) throw error
  const failure = violationOf(error.cause, session.dataSource, resource.metadata)
  if (failure === undefined) throw error.cause
  const errors = new FieldErrors()
  await checkReferences(session, resource, written, errors)
  errors.raise('bad-values')
  if (failure.kind === 'unique') throw alreadyTaken(resource, failure.columns)
  if (failure.kind === 'value') throw notAccepted(resource, columnsOf(failure, written.changes))
  // Nobody can refer to a new record yet.
  if (written.stored === undefined) throw notAccepted(resource, failure.columns)
  throw new ApiError('conflict', `other records refer to values of this ${resource.name} that would change`)
}

/** A value that a transformer takes and cannot read back has not been stored; one that was stored before is a fault. */
function unreadable(error: UnreadableError, changes: ChangeSet): Error {
  const field = [...changes.keys()].find(({ columns }) => columns.some(({ column }) => column === error.column))
  if (field === undefined) return error
  const message = 'must be a value that the transformer of its column can read back'
  return new ApiError('bad-values', `${field.name} ${message}`, { errors: [{ field: field.name, message }] })
}

function columnsOf(
  { columns, isAbout }: Extract<ConstraintViolation, { kind: 'value' }>,
  changes: ChangeSet,
): readonly string[] {
  if (isAbout === undefined) return columns
  const about = [...changes].filter(([, value]) => isAbout(value))
  return about.flatMap(([field]) => field.columns.map(({ column }) => column.databaseName))
}

/** @throws {ApiError} `conflict`, when other records refer to the one to delete */
export function refuseDelete(error: unknown, dataSource: DataSource, resource: Resource): never {
  if (!(error instanceof WriteError)) throw error
  const failure = violationOf(error.cause, dataSource, resource.metadata)
  if (failure === undefined) throw error.cause
  throw new ApiError('conflict', `this ${resource.name} cannot be deleted: ${hindrances[failure.kind]}`)
}

const hindrances: Readonly<Record<ConstraintViolation['kind'], string>> = {
  reference: 'other records refer to it',
  depth: 'more levels of records would be deleted with it than the database allows: delete the lowest ones first',
  unique: 'the database does not allow it',
  value: 'the database does not allow it',
}

/** The names of the fields of a constraint; none, when one of them is hidden. */
function namesOf({ outputFields }: Resource, columns: readonly string[]): readonly string[] {
  const named = columns.map(
    (column) =>
      outputFields.findLast(({ columns: own }) => own.some((one) => one.column.databaseName === column))?.name,
  )
  const names = named.filter((name) => name !== undefined)
  return names.length < columns.length ? [] : names
}

function alreadyTaken(resource: Resource, columns: readonly string[]): ApiError {
  const names = namesOf(resource, columns)
  const same = names.length === 0 ? 'value in a field that must be unique' : names.join(' and ')
  const errors = names.map((field) => ({ field, message: `is taken by another ${resource.name}` }))
  return new ApiError('conflict', `another ${resource.name} has the same ${same}`, { errors })
}

function notAccepted(resource: Resource, columns: readonly string[]): ApiError {
  const names = namesOf(resource, columns)
  const what = names.length === 0 ? `these values for a ${resource.name}` : `${names.join(' and ')} as given`
  const errors = names.map((field) => ({ field, message: 'is not accepted by a constraint of the database' }))
  return new ApiError('bad-values', `the database does not accept ${what}`, { errors })
}
