import type { EntityMetadata } from 'typeorm'
import type { Report } from '../errors'
import type { ResourceOptions } from '../resource'
import { buildFields, fieldsOfRecord } from './build-fields'
import { buildRule } from './build-rule'
import type { MountContext } from './context'
import type { Field } from './field'
import { type Lifecycle, lifecycleOf } from './lifecycle'
import { optionalNames } from './list-parameters'
import type { ColumnMetadata } from './metadata'
import { findOwner } from './owner'
import { fieldColumns, isColumnNamed, isNamed, propertyOf } from './property'
import type { Registration } from './registration'
import type { Resource } from './registry'
import { buildRelations, isHiddenBy } from './relations'
import { buildReadColumn, type ReadColumn } from './stored-column'
import { buildValidate } from './validation'

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
  if (typeof (options.description ?? '') !== 'string') {
    report(`"description" must be a text, not ${JSON.stringify(options.description)}`)
  }
  if (typeof (options.requireIfMatch ?? false) !== 'boolean') {
    report(`"requireIfMatch" must be true or false, not ${JSON.stringify(options.requireIfMatch)}`)
  }
  checkProperties(registration, context, report)
  const { shown, hidden } = buildFields(registration, context, report)
  const rule = buildRule(registration, context, report)
  const owner = findOwner(registration, [...shown, ...hidden], context, report)
  const outputFields = fieldsOfRecord(registration, shown, report)
  const lifecycle = lifecycleOf(metadata, context.dataSource)
  const validate = buildValidate(metadata)
  const shownColumns = [
    ...new Set<ReadColumn>(
      [...outputFields, ...(owner === undefined ? [] : [owner])].flatMap(({ columns }) => columns),
    ),
  ]
  const needsWhole = lifecycle.load || lifecycle.write || validate !== undefined || metadata.treeType !== undefined
  const entityColumns = needsWhole ? wholeRow(shownColumns, metadata, context) : shownColumns
  const inputs = [...hidden.filter((field) => field.insertable), ...outputFields]
  const fields = namesOf(outputFields)
  const [key] = outputFields
  if (key === undefined || rule === undefined) return undefined
  return {
    name,
    description: options.description ?? metadata.comment,
    metadata,
    rule,
    // The rows of a view are those of other tables.
    writable: rule.writes !== false && metadata.tableType !== 'view',
    key,
    outputFields,
    columns: lifecycle.load ? entityColumns : shownColumns,
    entityColumns,
    fields,
    writableFields: new Map(inputs.map((field) => [field.name, field])),
    embedded: new Set(inputs.flatMap(({ path }) => prefixesOf(path))),
    relations: buildRelations(registration),
    related: (relation) => {
      const related = context.byEntity.get(relation.inverseEntityMetadata)
      return related === undefined || isHiddenBy(related, relation) ? undefined : related
    },
    owner,
    requireIfMatch: options.requireIfMatch === true,
    ...buildPaging(options, fields, lifecycle, report),
    validate,
    lifecycle,
  }
}

function buildPaging(
  { paging = 'pages' }: ResourceOptions,
  fields: Resource['fields'],
  lifecycle: Lifecycle,
  report: Report,
): Pick<Resource, 'paging' | 'optionalParameters'> {
  if (paging !== 'pages' && paging !== 'keyset') {
    report(`"paging" must be "pages" or "keyset", not ${JSON.stringify(paging)}`)
  }
  const optionalParameters = new Set(optionalNames.filter((name) => !fields.has(name)))
  if (paging === 'keyset' && !optionalParameters.has('after')) {
    report(
      '"paging" is "keyset", whose parameter "after" is a field of it too: give the field another name with "rename"',
    )
  }
  if (paging === 'keyset' && lifecycle.load) {
    report('"paging" is "keyset", whose tokens would tell what listeners of loading may hide')
  }
  return { paging, optionalParameters }
}

/** A row as the entity that TypeORM would hand out has it: every other column that TypeORM selects by itself, and a tree's parent. */
function wholeRow(
  row: readonly ReadColumn[],
  metadata: EntityMetadata,
  { dataSource }: MountContext,
): readonly ReadColumn[] {
  const known = new Set(row.map(({ column }) => column))
  const isParent = ({ relationMetadata }: ColumnMetadata): boolean => relationMetadata?.isTreeParent === true
  const others = metadata.columns.filter((column) => (column.isSelect || isParent(column)) && !known.has(column))
  return [...row, ...others.map((column) => buildReadColumn(column, dataSource))]
}

function checkProperties({ metadata, options }: Registration, { dataSource }: MountContext, report: Report): void {
  const isKnown = (property: string): boolean =>
    metadata.columns.some((column) => isColumnNamed(column, [property])) ||
    metadata.relations.some(({ propertyPath }) => isNamed(propertyPath, [property]))
  const lists = { exclude: options.exclude, readOnly: options.readOnly, rename: Object.keys(options.rename ?? {}) }
  for (const [option, named = []] of Object.entries(lists)) {
    if (!Array.isArray(named)) report(`"${option}" must be an array of properties`)
    for (const property of Array.isArray(named) ? named : []) {
      if (isKnown(property)) continue
      const properties = [...new Set(fieldColumns(metadata, dataSource).map(propertyOf))].join(', ')
      report(`"${property}" in "${option}" is no property of it; properties: ${properties}`)
    }
  }
}

/** A foreign key can be named with and without `_id` (specification: Names of filters), unless a field has that name. */
function namesOf(record: readonly Field[]): ReadonlyMap<string, Field> {
  const references = record.filter((field) => field.relation !== undefined)
  return new Map([
    ...references.map((field) => [field.name.replace(/_id$/, ''), field] as const),
    ...record.map((field) => [field.name, field] as const),
  ])
}

/** `['a', 'b', 'c']` is in `a` and in `a__b`. */
function prefixesOf(path: readonly string[]): readonly string[] {
  return path.slice(0, -1).map((_, index) => path.slice(0, index + 1).join('__'))
}
