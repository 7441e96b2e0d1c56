import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { cachedStatement, compile, gather, selectFrom } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { execute } from '../connection/statement'
import { dialectOf, violationOf } from '../dialect/dialect-of'
import type { FieldErrors } from '../errors'
import { type ChangeSet, tableAlias } from '../query/query'
import { columnSql, type Row, splitColumnValues, toBindParameter } from '../read/row'
import type { Field } from '../schema/field'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import type { StoredColumn } from '../schema/stored-column'

/** Values that a request writes, and the stored record. */
export interface PendingWrite {
  readonly changes: ChangeSet
  /** The record before the write; undefined for a new one. */
  readonly stored: Row | undefined
}

/**
 * Checks the foreign keys that the database does not check exactly. The others are checked here only if the request has
 * other errors, so that one response reports all errors.
 * @throws {ApiError} `bad-values` with all errors
 */
export async function requireReferences(
  session: DbSession,
  resource: Resource,
  written: PendingWrite,
  errors: FieldErrors,
): Promise<void> {
  const unconstrained = uncheckedReferences(resource, session.dataSource)
  const isUnconstrained = (field: Field): boolean => unconstrained.has(field)
  if (unconstrained.size > 0) await checkReferences(session, resource, written, errors, isUnconstrained)
  if (!errors.isEmpty) await checkReferences(session, resource, written, errors, (field) => !isUnconstrained(field))
  errors.raise('bad-values')
}

/**
 * Foreign keys that the database does not check exactly: the constraint is missing or not sufficient, or the collation
 * of a column treats different texts as equal.
 */
export const uncheckedReferences = memoize((resource: Resource, dataSource: DataSource): ReadonlySet<Field> => {
  const { isLoose } = dialectOf(dataSource)
  const isConstrained = ({ constrained, columns }: Field): boolean => constrained && !columns.some(isLoose)
  const all = [...resource.outputFields, ...resource.writableFields.values()].filter(
    ({ relation }) => relation !== undefined,
  )
  return new Set(all.filter((field) => !isConstrained(field)))
})

/**
 * Adds an error for each foreign key that refers to no record and of which at least one column is written
 * (specification: Foreign keys).
 */
export async function checkReferences(
  session: DbSession,
  resource: Resource,
  written: PendingWrite,
  errors: FieldErrors,
  matches: (field: Field) => boolean = () => true,
): Promise<void> {
  const values = writtenValues(written.changes)
  // The owner comes from the principal, not from the body: a hidden owner must not appear in errors.
  const requestedFields = [...written.changes.keys()].filter((field) => field !== resource.owner)
  const fields = new Set([...resource.outputFields, ...requestedFields])
  for (const field of fields) {
    if (field.relation === undefined || !matches(field)) continue
    if (!field.columns.some((column) => values.has(column))) continue
    const key = field.columns.map((column) =>
      values.has(column) ? values.get(column) : (written.stored?.[resource.columns.indexOf(column)] ?? null),
    )
    if (!key.includes(null) && !(await referencedExists(session, resource, field, key))) {
      errors.add(field.name, `points to no ${field.relation.inverseEntityMetadata.name.toLowerCase()}`)
    }
  }
}

function writtenValues(changes: ChangeSet): ReadonlyMap<StoredColumn, unknown> {
  return new Map(
    [...changes].flatMap(([field, value]) => {
      const values = splitColumnValues(field, value)
      return field.columns.map((column, index) => [column, values[index]] as const)
    }),
  )
}

async function referencedExists(
  session: DbSession,
  { name }: Resource,
  field: Field,
  key: readonly unknown[],
): Promise<boolean> {
  const { dataSource } = session
  const { values, bind } = gather()
  const placeholders = field.columns.map((column, index) => bind(toBindParameter(dataSource, column, key[index])))
  const statement = cachedStatement(session, `reference ${name}.${field.property}`, () =>
    compile(dataSource, referencedQuery(dataSource, field, placeholders), values.length),
  )
  const { records } = await execute(session, statement, values).catch((error: unknown) => {
    // If the database rejects the value, such as a number out of range, no record has it as its key.
    if (field.relation === undefined) throw error
    if (violationOf(error, dataSource, field.relation.inverseEntityMetadata) === undefined) throw error
    return { records: [] }
  })
  return records.length > 0
}

const referencedAlias = tableAlias('referenced')

/** Builds a SELECT that finds the record of a foreign key. @param placeholders of the key's values */
function referencedQuery(
  dataSource: DataSource,
  { relation, columns }: Field,
  placeholders: readonly string[],
): SelectQueryBuilder<ObjectLiteral> {
  const target = relation?.inverseEntityMetadata.target ?? ''
  const builder = selectFrom(dataSource, target, referencedAlias).addSelect('1', '0')
  for (const [index, stored] of columns.entries()) {
    const referenced = { ...stored, column: stored.column.referencedColumn ?? stored.column }
    const column = columnSql(dataSource, referenced, referencedAlias)
    const { equalsAny, operand } = dialectOf(dataSource)
    builder.andWhere(equalsAny(referenced, column, [operand(referenced, placeholders[index] ?? '')]))
  }
  return builder.limit(1)
}
