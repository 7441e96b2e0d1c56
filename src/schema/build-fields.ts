import type { Report } from '../errors'
import type { MountContext } from './context'
import { buildField, buildIdField, type Field, relationOf, valueTypeOfAll } from './field'
import { hiddenReference, isHidden } from './hidden'
import type { ColumnMetadata } from './metadata'
import { fieldColumns, isColumnNamed, isNamed, isSameColumn, propertyOf } from './property'
import type { Registration } from './registration'
import { isToMany } from './relations'
import { buildStoredColumn, type StoredColumn } from './stored-column'
import { unsupportedReason } from './unsupported'

/** The fields, and those that are hidden: excluded, `select: false`, and the users' password (specification: Hidden fields). */
export function buildFields(
  registration: Registration,
  context: MountContext,
  report: Report,
): { readonly shown: readonly Field[]; readonly hidden: readonly Field[] } {
  const { metadata, options } = registration
  const { dataSource, accounts } = context
  const isPassword = (column: ColumnMetadata): boolean => isSameColumn(column, accounts?.password)
  const isHiddenHere = (column: ColumnMetadata): boolean => isHidden(column, registration, context)
  const shown: Field[] = []
  const hidden: Field[] = []
  const stored = new Map<ColumnMetadata, StoredColumn>()
  for (const column of fieldColumns(metadata, dataSource)) {
    const hindrance = unsupportedReason(column, dataSource, options.rename)
    const built = buildStoredColumn(column, dataSource)
    if (hindrance === undefined && built !== undefined) stored.set(column, built)
    else if (!isHiddenHere(column)) report(`${propertyOf(column)} ${hindrance}`)
  }
  const add = (columns: readonly ColumnMetadata[], declared: boolean): void => {
    const found = columns.flatMap((column) => stored.get(column) ?? [])
    const relation = columns.length > 1 ? columns[0]?.relationMetadata : undefined
    const isExcluded = isNamed(relation?.propertyPath ?? '', options.exclude)
    if (found.length < columns.length) {
      const isShared = columns.some((column) => !metadata.columns.includes(column))
      const advice = 'give its columns properties of their own, or exclude it'
      if (isShared && !isExcluded) report(`${relation?.propertyPath} shares a column with another relation: ${advice}`)
      return
    }
    const fields = isExcluded || columns.some(isHiddenHere) ? hidden : shown
    const field = buildField(found, { ...options, password: columns.some(isPassword) }, declared)
    fields.push(field)
    if (fields === shown) checkReferences(field, context, report)
  }
  for (const column of stored.keys()) {
    if (!column.isVirtual || relationOf(column) !== undefined) add([column], false)
  }
  // A foreign key of several columns is one field; those of them that the entity declares are fields too, which write it.
  const references = metadata.relations.filter((relation) => !isToMany(relation))
  for (const { joinColumns } of references.filter((relation) => relation.joinColumns.length > 1)) {
    add(
      joinColumns,
      joinColumns.some((column) => !column.isVirtual),
    )
  }
  return { shown, hidden }
}

/** A foreign key has the values of the column that it refers to: what is hidden there must not be shown here. */
function checkReferences({ property, columns }: Field, context: MountContext, report: Report): void {
  for (const { column } of columns) {
    const hidden = hiddenReference(column, context)
    if (hidden === undefined) continue
    const ways = [
      'refer to a column that is shown ("referencedColumnName")',
      ...(column.isPrimary ? [] : [`put "${property}" in "exclude" too`]),
      `show ${hidden}`,
    ]
    report(
      `"${property}" would show the values of ${hidden}, which is hidden, as it refers to it: ${ways.join(', or ')}`,
    )
  }
}

/** What a record shows: its key first, as `id`, whatever its own name is (specification: Record representation). */
export function fieldsOfRecord(
  { metadata, options }: Registration,
  shown: readonly Field[],
  report: Report,
): readonly Field[] {
  const keys = metadata.primaryColumns
  if (keys.length === 0) report('it has no primary key to tell its records apart')
  for (const column of keys.filter((key) => isColumnNamed(key, options.exclude) || !key.isSelect)) {
    report(`"${propertyOf(column)}" is in its key, which cannot be hidden: every record shows it as "id"`)
  }
  const stored = keys.flatMap((key) =>
    shown.flatMap(({ columns }) => columns.find(({ column }) => column === key) ?? []),
  )
  const columns = [...new Set(stored)]
  const [first] = columns
  if (first === undefined || columns.length < keys.length) return []
  const kind = valueTypeOfAll(columns, first)
  if (kind.inPath === undefined) {
    report(`its key ${keys.map(propertyOf).join(' and ')} must be ${kind.description}, which cannot stand in a path`)
  }
  const single = shown.find((field) => field.name === 'id' && field.columns.length === 1 && field.columns[0] === first)
  const record =
    single !== undefined && columns.length === 1
      ? [single, ...shown.filter((field) => field !== single)]
      : [buildIdField(columns, kind), ...shown]
  checkNames(record, report)
  return record
}

function checkNames(fields: readonly Field[], report: Report): void {
  const seen = new Map<string, Field>()
  for (const field of fields) {
    const other = seen.get(field.name)
    const both = `${other?.property} and ${field.property} would both be "${field.name}"`
    if (other === undefined) seen.set(field.name, field)
    else
      report(`${both}: give ${field.property} another name, as { rename: { ${field.property}: '…' } }, or exclude it`)
  }
}
