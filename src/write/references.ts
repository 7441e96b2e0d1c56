import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { compile, gather, statementOf } from '../connection/compile'
import type { DbSession } from '../connection/db-session'
import { execute } from '../connection/statement'
import { dialectOf } from '../dialect/dialect-of'
import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../query/query'
import { columnSql, type Row, toParameter, toValues } from '../read/row'
import type { Field } from '../schema/field'
import { memoize } from '../schema/memoize'
import type { Resource } from '../schema/registry'
import type { StoredColumn } from '../schema/stored-column'

/** What a request writes, and the record as it was; undefined for a new one. */
export interface WrittenFields {
  readonly changes: ChangeSet
  readonly stored: Row | undefined
}

/**
 * Checks what the database will not: a foreign key that it watches is looked up only where there is an error to report
 * anyway.
 * @throws {ApiError} `bad-values`, with every error there is
 */
export async function requireReferences(
  session: DbSession,
  resource: Resource,
  written: WrittenFields,
  errors: FieldErrors,
): Promise<void> {
  const unwatched = unwatchedReferences(resource, session.dataSource)
  const isUnwatched = (field: Field): boolean => unwatched.has(field)
  if (unwatched.size > 0) await checkReferences(session, resource, written, errors, isUnwatched)
  if (!errors.isEmpty) await checkReferences(session, resource, written, errors, (field) => !isUnwatched(field))
  errors.raise('bad-values')
}

/** The foreign keys that the database does not watch. */
export const unwatchedReferences = memoize((resource: Resource, dataSource: DataSource): ReadonlySet<Field> => {
  const { isTextLoose } = dialectOf(dataSource)
  const isWatched = ({ constrained, columns }: Field): boolean =>
    constrained && !(isTextLoose && columns.some(({ valueType }) => valueType.name === 'text'))
  const all = [...resource.outputFields, ...resource.writableFields.values()].filter(
    ({ relation }) => relation !== undefined,
  )
  return new Set(all.filter((field) => !isWatched(field)))
})

/** Notes every foreign key that is written, in whole or in part, and whose record does not exist (specification: Foreign keys). */
export async function checkReferences(
  session: DbSession,
  resource: Resource,
  written: WrittenFields,
  errors: FieldErrors,
  isMeant: (field: Field) => boolean = () => true,
): Promise<void> {
  const values = writtenValues(written.changes)
  // Of a hidden owner, whom the request does not name, nothing is said.
  const given = [...written.changes.keys()].filter((field) => field !== resource.owner)
  const fields = new Set([...resource.outputFields, ...given])
  for (const field of fields) {
    if (field.relation === undefined || !isMeant(field)) continue
    if (!field.columns.some((column) => values.has(column))) continue
    const key = field.columns.map((column) =>
      values.has(column) ? values.get(column) : (written.stored?.[resource.columns.indexOf(column)] ?? null),
    )
    if (!key.includes(null) && !(await isThere(session, resource, field, key))) {
      errors.add(field.name, `points to no ${field.relation.inverseEntityMetadata.name.toLowerCase()}`)
    }
  }
}

function writtenValues(changes: ChangeSet): ReadonlyMap<StoredColumn, unknown> {
  return new Map(
    [...changes].flatMap(([field, value]) => {
      const values = toValues(field, value)
      return field.columns.map((column, index) => [column, values[index]] as const)
    }),
  )
}

async function isThere(
  session: DbSession,
  { name }: Resource,
  field: Field,
  key: readonly unknown[],
): Promise<boolean> {
  const { dataSource } = session
  const { values, bind } = gather()
  const names = field.columns.map((column, index) => bind(toParameter(dataSource, column, key[index])))
  const statement = statementOf(session, `reference ${name}.${field.property}`, () =>
    compile(dataSource, referred(dataSource, field, names), values.length),
  )
  const { records } = await execute(session, statement, values)
  return records.length > 0
}

/** The record that a foreign key refers to. @param names of the key's values */
function referred(
  dataSource: DataSource,
  { relation, columns }: Field,
  names: readonly string[],
): SelectQueryBuilder<ObjectLiteral> {
  const target = relation?.inverseEntityMetadata.target ?? ''
  const builder = dataSource.createQueryBuilder(target, 'r').select('1', '0')
  for (const [index, stored] of columns.entries()) {
    const referenced = { ...stored, column: stored.column.referencedColumn ?? stored.column }
    const column = columnSql(dataSource, referenced, 'r')
    const { equalsAny, operand } = dialectOf(dataSource)
    builder.andWhere(equalsAny(column, stored.valueType, [operand(referenced, names[index] ?? '')]))
  }
  return builder.limit(1)
}
