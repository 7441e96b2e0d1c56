import type { DataSource } from 'typeorm'
import type { Report } from '../errors'
import { restrictApiKeyField } from './api-key-fields'
import type { ScanContext } from './context'
import { buildField, buildIdField, type Field, prefixesOf, relationOf, valueTypeOfColumns } from './field'
import { hiddenReference, isHidden, restrictedReference } from './hidden'
import { type ColumnMetadata, withJoinColumns } from './metadata'
import { fieldColumns, hasOption, isNamed, isSameColumn, listsColumn, propertyOf } from './property'
import type { Registration } from './registration'
import { checkSharedColumns, isToMany } from './relations'
import { buildStoredColumn, type StoredColumn } from './stored-column'
import { unsupportedReason } from './unsupported'

/** Whether an INSERT returns the key of the new row. SQLite and PostgreSQL always do, although TypeORM's driver of SQLite says no. */
function returnsNewKeys({ options, driver }: DataSource): boolean {
  return !['mysql', 'mariadb'].includes(options.type) || driver.isReturningSqlSupported('insert')
}

/**
 * Builds the visible fields, and the hidden ones: excluded, `select: false` and the users' password
 * (specification: Hidden fields).
 */
export function buildFields(
  registration: Registration,
  context: ScanContext,
  report: Report,
): { readonly shown: readonly Field[]; readonly hidden: readonly Field[] } {
  const { metadata, options } = registration
  const { dataSource, accounts } = context
  checkSharedColumns(registration, report)
  const returnsKeys = returnsNewKeys(dataSource)
  const isPassword = (column: ColumnMetadata): boolean => isSameColumn(column, accounts?.password)
  const isHiddenHere = (column: ColumnMetadata): boolean => isHidden(column, registration, context)
  const shown: Field[] = []
  const hidden: Field[] = []
  const stored = new Map<ColumnMetadata, StoredColumn>()
  for (const column of fieldColumns(metadata, dataSource)) {
    const reason = unsupportedReason(column, dataSource, options.rename)
    const built = buildStoredColumn(column, dataSource)
    if (reason === undefined && built !== undefined) stored.set(column, built)
    else if (!isHiddenHere(column)) report(`${propertyOf(column)} ${reason}`)
  }
  const add = (columns: readonly ColumnMetadata[], declared: boolean): void => {
    const storedColumns = columns.flatMap((column) => stored.get(column) ?? [])
    if (storedColumns.length < columns.length) return
    const relation = columns.length > 1 ? columns[0]?.relationMetadata : undefined
    const isExcluded = isNamed(relation?.propertyPath ?? '', options.exclude)
    const fields = isExcluded || columns.some(isHiddenHere) ? hidden : shown
    const password = columns.some(isPassword)
    const built = buildField(storedColumns, { ...options, metadata, password, returnsKeys }, declared)
    const field = restrictApiKeyField(built, context)
    fields.push(field)
    if (fields === shown) checkHiddenReferences(field, registration, context, report)
  }
  for (const column of stored.keys()) {
    if (!column.isVirtual || relationOf(column) !== undefined) add([column], false)
  }
  // A composite foreign key is one field. Columns of it that the entity declares are fields too, and the key is written
  // through them.
  const references = metadata.relations.map(withJoinColumns).filter((relation) => !isToMany(relation))
  for (const { joinColumns } of references.filter((relation) => relation.joinColumns.length > 1)) {
    add(
      joinColumns,
      joinColumns.some((column) => !column.isVirtual),
    )
  }
  return { shown, hidden }
}

/** Reports a foreign key that refers to a column that some or all principals may not read: it has the same values. */
function checkHiddenReferences(field: Field, registration: Registration, context: ScanContext, report: Report): void {
  const { property, columns } = field
  const alternative = 'refer to a column that is shown ("referencedColumnName")'
  for (const { column } of columns) {
    const hidden = hiddenReference(column, context)
    if (hidden === undefined) continue
    const solutions = [
      alternative,
      ...(column.isPrimary ? [] : [`put "${property}" in "exclude" too`]),
      `show ${hidden}`,
    ]
    const problem = `"${property}" would show the values of ${hidden}, which is hidden, because it refers to it`
    report(`${problem}: ${solutions.join(', or ')}`)
  }
  const restricted = restrictedReference(field, registration, context)
  if (restricted === undefined) return
  const problem = `"${property}" would show the values of ${restricted} to principals who may not read that field`
  const isKey = columns.some(({ column }) => column.isPrimary)
  const solution = `give "${property}" the same "read" function in "fields"`
  report(`${problem}, because it refers to it: ${[alternative, ...(isKey ? [] : [solution])].join(', or ')}`)
}

/**
 * The fields of a JSON record: the key as `id`, then the other visible fields (specification: Record representation).
 * @returns an empty array if the entity has no usable key
 */
export function buildOutputFields(
  { metadata, options }: Registration,
  shown: readonly Field[],
  report: Report,
): readonly Field[] {
  const keys = metadata.primaryColumns
  if (keys.length === 0) report('the entity needs a primary key, which identifies its records')
  for (const column of keys.filter((key) => listsColumn(key, options.exclude) || !hasOption(metadata, key, 'select'))) {
    report(`"${propertyOf(column)}" is part of the key, which cannot be hidden: every record shows it as "id"`)
  }
  const keyColumns = keys.flatMap((key) =>
    shown.flatMap(({ columns }) => columns.find(({ column }) => column === key) ?? []),
  )
  const columns = [...new Set(keyColumns)]
  const [first] = columns
  if (first === undefined || columns.length < keys.length) return []
  const valueType = valueTypeOfColumns(columns, first)
  if (valueType.inPath === undefined) {
    const names = keys.map(propertyOf).join(' and ')
    report(`the key ${names} has a type that cannot be used in a path: each value is ${valueType.description}`)
  }
  const idField = shown.find((field) => field.name === 'id' && field.columns.length === 1 && field.columns[0] === first)
  const outputFields =
    idField !== undefined && columns.length === 1
      ? [idField, ...shown.filter((field) => field !== idField)]
      : [buildIdField(columns, valueType), ...shown]
  checkNames(outputFields, report)
  return outputFields
}

/** Reports fields with the same name, and those with the name of an embedded entity, which is an object in records. */
function checkNames(fields: readonly Field[], report: Report): void {
  const embedded = new Set(fields.flatMap(({ path }) => prefixesOf(path)))
  const byName = new Map<string, Field>()
  for (const field of fields) {
    const { name, property } = field
    const other = byName.get(name)
    const both = `${other?.property} and ${property} would both be "${name}"`
    if (other === undefined) byName.set(name, field)
    else report(`${both}: give ${property} another name, as { rename: { ${property}: '…' } }, or exclude it`)
    if (embedded.has(name)) {
      const solution =
        'give the property of the embedded entity another name; { prefix } keeps the names of its columns'
      report(`${property} and an embedded entity would both be "${name}": ${solution}`)
    }
  }
}
