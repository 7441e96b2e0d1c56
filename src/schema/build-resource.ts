import type { Report } from '../errors'
import { buildRule } from './build-rule'
import type { ColumnMetadata } from './column-kind'
import type { MountContext } from './context'
import { buildField, type Field, hindranceOf } from './field'
import { findOwner } from './owner'
import { fieldColumns, isNamed, isSameColumn, optionNames, propertyOf } from './property'
import type { Registration } from './registration'
import type { Resource } from './registry'

const namePattern = /^[a-z0-9][a-z0-9_-]*$/

/**
 * Compiles one entity and its options.
 * @returns undefined when a mistake leaves nothing to build
 */
export function buildResource(registration: Registration, context: MountContext, report: Report): Resource | undefined {
  const { metadata, options } = registration
  const name = options.name ?? metadata.name.toLowerCase()
  if (!namePattern.test(name)) {
    report(`"${name}" cannot be a name in a path; give one of small letters, digits, "-" and "_" as option "name"`)
  }
  checkProperties(registration, context, report)
  const { shown, hidden } = splitFields(registration, context, report)
  const key = findKey(registration, shown, report)
  const rule = buildRule(registration, context, report)
  const owner = findOwner(registration, [...shown, ...hidden], context, report)
  if (key === undefined || rule === undefined) return undefined
  const record = recordFields(key, shown)
  checkNames(record, report)
  return {
    name,
    metadata,
    rule,
    key,
    record,
    row: owner === undefined || record.includes(owner) ? record : [...record, owner],
    fields: namesOf(record),
    inputs: new Map([...hidden.filter((field) => field.insertable), ...record].map((field) => [field.name, field])),
    related: ({ relation }) => relation && context.byEntity.get(relation.inverseEntityMetadata),
    owner,
  }
}

function checkProperties({ metadata, options }: Registration, { dataSource }: MountContext, report: Report): void {
  const known = new Set([
    ...metadata.columns.flatMap(optionNames),
    ...metadata.relations.map((relation) => relation.propertyPath),
  ])
  for (const option of ['exclude', 'readOnly'] as const) {
    const named = options[option] ?? []
    if (!Array.isArray(named)) report(`"${option}" must be an array of properties`)
    for (const property of Array.isArray(named) ? named : []) {
      if (known.has(property)) continue
      const properties = fieldColumns(metadata, dataSource).map(propertyOf).join(', ')
      report(`"${property}" in "${option}" is no property of it; properties: ${properties}`)
    }
  }
}

/** The fields, and those that are hidden: excluded, `select: false`, and the users' password (D13). */
function splitFields(
  { metadata, options }: Registration,
  { dataSource, accounts }: MountContext,
  report: Report,
): { readonly shown: readonly Field[]; readonly hidden: readonly Field[] } {
  const isPassword = (column: ColumnMetadata): boolean => isSameColumn(column, accounts?.password)
  const isHidden = (column: ColumnMetadata): boolean =>
    isNamed(column, options.exclude) || !column.isSelect || isPassword(column)
  const shown: Field[] = []
  const hidden: Field[] = []
  for (const column of fieldColumns(metadata, dataSource)) {
    const hindrance = hindranceOf(column, dataSource)
    if (hindrance === undefined) {
      const fields = isHidden(column) ? hidden : shown
      fields.push(buildField(column, dataSource, { readOnly: options.readOnly, password: isPassword(column) }))
    } else if (!isHidden(column)) report(`${propertyOf(column)} ${hindrance}: exclude it`)
  }
  return { shown, hidden }
}

function findKey({ metadata, options }: Registration, shown: readonly Field[], report: Report): Field | undefined {
  const [column, second] = metadata.primaryColumns
  if (column === undefined) {
    report('it has no primary key to tell its records apart')
    return undefined
  }
  if (second !== undefined || column.referencedColumn !== undefined) {
    report('a key of several columns, or one that is a relation, is not supported yet')
    return undefined
  }
  const key = shown.find((field) => field.column === column)
  if (isNamed(column, options.exclude) || !column.isSelect) {
    report(`"${propertyOf(column)}" is its key, which cannot be hidden: every record shows it as "id"`)
  }
  if (key !== undefined && key.kind.inPath === undefined) {
    report(`its key ${key.property} must be ${key.kind.description}, which cannot stand in a path`)
  }
  return key
}

/** A key of another name is shown as `id` too (spec.md, Record representation). */
function recordFields(key: Field, shown: readonly Field[]): readonly Field[] {
  const others = shown.filter((field) => field !== key)
  if (key.name === 'id') return [key, ...others]
  return [{ ...key, name: 'id', required: false, insertable: false }, key, ...others]
}

function checkNames(fields: readonly Field[], report: Report): void {
  const seen = new Map<string, Field>()
  for (const field of fields) {
    const other = seen.get(field.name)
    if (other === undefined) seen.set(field.name, field)
    else report(`${other.property} and ${field.property} would both be "${field.name}": exclude or rename one`)
  }
}

/** A foreign key can be named with and without `_id` (D15), unless a field has that name. */
function namesOf(record: readonly Field[]): ReadonlyMap<string, Field> {
  const references = record.filter((field) => field.relation !== undefined)
  return new Map([
    ...references.map((field) => [field.property, field] as const),
    ...record.map((field) => [field.name, field] as const),
  ])
}
