import type { DbSession } from '../connection/db-session'
import { WriteError } from '../connection/statement'
import type { ConstraintViolation } from '../dialect/dialect'
import { violationOf } from '../dialect/dialect-of'
import { ApiError, FieldErrors } from '../errors'
import type { ChangeSet } from '../query/query'
import { UnreadableError } from '../read/row'
import type { Store } from '../read/store'
import { declaredLimits, limitsInWords } from '../schema/declared-limits'
import type { ResourceView } from '../schema/resource-view'
import type { Change } from './change'
import { addRejectedReferenceErrors, checkReferences } from './references'

/**
 * Converts the error of an INSERT or UPDATE into a refusal (specification: Error documents, Foreign keys).
 * @throws {ApiError} `conflict`, `bad-values`, `forbidden`
 * @throws the error itself if it is not a `WriteError`; its cause, if it violates no constraint
 */
export async function refuseWrite(error: unknown, session: DbSession, store: Store, change: Change): Promise<never> {
  const { view, dataSource } = store
  if (error instanceof UnreadableError) throw unreadable(error, view, change.values)
  if (!(error instanceof WriteError)) throw error
  const violation = violationOf(error.cause, dataSource, view.metadata)
  if (violation === undefined) throw error.cause
  const errors = new FieldErrors()
  await checkReferences(session, store, change, errors)
  if (violation.kind === 'reference') addRejectedReferenceErrors(view, change, violation.columns, errors)
  errors.raise('bad-values')
  if (violation.kind === 'rowPolicy') throw notPermitted(view)
  if (violation.kind === 'unique') throw alreadyTaken(view, violation.columns)
  if (violation.kind === 'value') throw notAccepted(view, columnsOf(violation, change.values))
  // No record can refer to a new one, so one of its own foreign keys is wrong.
  if (change.action === 'create') throw notAccepted(view, violation.columns)
  throw new ApiError('conflict', `other records refer to values of this ${view.name} that would change`)
}

/**
 * Error for a written record with a value that cannot be read: a refusal if the request has written the value. Otherwise it
 * was stored before, or comes from the application, and the error itself is returned, which is a fault (500).
 */
function unreadable(error: UnreadableError, { writableFields }: ResourceView, changes: ChangeSet): Error {
  // Values of fields that a body cannot contain come from the application.
  const field = [...changes.keys()]
    .filter((changed) => writableFields.get(changed.name) === changed)
    .find(({ columns }) => columns.some(({ column }) => column === error.column))
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

/** Converts the error of a DELETE into a refusal. @throws {ApiError} `conflict`, `forbidden` */
export function refuseDelete(error: unknown, { view, dataSource }: Store): never {
  if (!(error instanceof WriteError)) throw error
  const violation = violationOf(error.cause, dataSource, view.metadata)
  if (violation === undefined) throw error.cause
  if (violation.kind === 'rowPolicy') throw notPermitted(view)
  throw new ApiError('conflict', `this ${view.name} cannot be deleted: ${deleteRefusals[violation.kind]}`)
}

/** Refusal of a write by a policy of the database. */
function notPermitted({ name }: ResourceView): ApiError {
  return new ApiError('forbidden', `a policy of the database does not permit this ${name}`)
}

const deleteRefusals: Readonly<Record<Exclude<ConstraintViolation['kind'], 'rowPolicy'>, string>> = {
  reference: 'other records refer to it',
  depth: 'more levels of records would be deleted with it than the database allows: delete the lowest ones first',
  unique: 'the database does not allow it',
  value: 'the database does not allow it',
}

/** Field names of a constraint's columns. Empty if one of them is hidden, so that the error does not reveal it. */
function shownNamesOf({ outputFields }: ResourceView, columns: readonly string[]): readonly string[] {
  const fieldNames = columns.map(
    (column) =>
      outputFields.findLast(({ columns: own }) => own.some((one) => one.column.databaseName === column))?.name,
  )
  const names = fieldNames.filter((name) => name !== undefined)
  return names.length < columns.length ? [] : names
}

function alreadyTaken(view: ResourceView, columns: readonly string[]): ApiError {
  const names = shownNamesOf(view, columns)
  const duplicated = names.length === 0 ? 'value in a field that must be unique' : names.join(' and ')
  // Only the combination of the values is taken. In writes of several records, no other text says this.
  const withOthers = (field: string): string =>
    names.length < 2 ? '' : ` with the same ${names.filter((name) => name !== field).join(' and ')}`
  const errors = names.map((field) => ({ field, message: `is taken by another ${view.name}${withOthers(field)}` }))
  return new ApiError('conflict', `another ${view.name} has the same ${duplicated}`, { errors })
}

function notAccepted(view: ResourceView, columns: readonly string[]): ApiError {
  const names = shownNamesOf(view, columns)
  const subject = names.length === 0 ? `these values for a ${view.name}` : `the value of ${names.join(' and ')}`
  const errors = names.map((field) => {
    const known = view.outputFields.find(({ name }) => name === field)
    const limits = known === undefined ? '' : limitsInWords(declaredLimits(view.metadata, known))
    const message = 'is not accepted by a constraint of the database'
    return { field, message: limits === '' ? message : `${message}; it must be ${limits}` }
  })
  return new ApiError('bad-values', `the database does not accept ${subject}`, { errors })
}
