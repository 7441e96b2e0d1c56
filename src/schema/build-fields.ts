import type { Report } from '../errors'
import type { MountContext } from './context'
import { buildField, buildIdField, type Field, kindOfAll, relationOf } from './field'
import { hindranceOf } from './hindrance'
import type { ColumnMetadata } from './metadata'
import { fieldColumns, isColumnNamed, isNamed, isSameColumn, propertyOf } from './property'
import type { Registration } from './registration'
import { buildStoredColumn, type StoredColumn } from './stored-column'

/** The fields, and those that are hidden: excluded, `select: false`, and the users' password (D13). */
export function buildFields(
  { metadata, options }: Registration,
  { dataSource, accounts }: MountContext,
  report: Report,
): { readonly shown: readonly Field[]; readonly hidden: readonly Field[] } {
  const isPassword = (column: ColumnMetadata): boolean => isSameColumn(column, accounts?.password)
  const isHidden = (column: ColumnMetadata): boolean =>
    isColumnNamed(column, options.exclude) || !column.isSelect || isPassword(column)
  const shown: Field[] = []
  const hidden: Field[] = []
  const stored = new Map<ColumnMetadata, StoredColumn>()
  for (const column of fieldColumns(metadata, dataSource)) {
    const hindrance = hindranceOf(column, dataSource, options.rename)
    const built = buildStoredColumn(column, dataSource)
    if (hindrance === undefined && built !== undefined) stored.set(column, built)
    else if (!isHidden(column)) report(`${propertyOf(column)} ${hindrance}`)
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
    const fields = isExcluded || columns.some(isHidden) ? hidden : shown
    fields.push(buildField(found, { ...options, password: columns.some(isPassword) }, declared))
  }
  for (const column of stored.keys()) {
    if (!column.isVirtual || relationOf(column) !== undefined) add([column], false)
  }
  // A foreign key of several columns is one field; those of them that the entity declares are fields too, which write it.
  for (const { joinColumns } of metadata.relations.filter((relation) => relation.joinColumns.length > 1)) {
    add(
      joinColumns,
      joinColumns.some((column) => !column.isVirtual),
    )
  }
  return { shown, hidden }
}

/** What a record shows: its key first, as `id`, whatever its own name is (spec.md, Record representation). */
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
  const kind = kindOfAll(columns, first)
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
