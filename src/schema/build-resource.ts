import type { EntityMetadata } from 'typeorm'
import type { Report } from '../errors'
import type { ResourceOptions } from '../resource'
import { buildApiKeyFields, checkApiKeyResource } from './api-key-fields'
import { buildAggregate, isAggregateName } from './build-aggregate'
import { buildBulk } from './build-bulk'
import { buildFields, buildOutputFields } from './build-fields'
import { buildFormats } from './build-formats'
import { buildIncludes } from './build-includes'
import { buildMay, buildPreset } from './build-permissions'
import { buildRowScope } from './build-row-scope'
import { buildRule } from './build-rule'
import { checkEngine } from './check-engine'
import type { MountContext } from './context'
import { type Field, prefixesOf } from './field'
import { buildFilterNames } from './filter-names'
import { type Lifecycle, lifecycleOf } from './lifecycle'
import { optionalNames } from './list-parameters'
import type { ColumnMetadata } from './metadata'
import { lazyNested } from './nested-relations'
import { findOwner } from './owner'
import { isPropertyOf, unknownProperty } from './property'
import type { Registration } from './registration'
import { buildRelations, checkDiscriminator, checkJoinedNames, checkTargets, isHiddenBy } from './relations'
import type { FilterNames, ResourceView } from './resource-view'
import { lazySearch } from './search-fields'
import { buildReadColumn, type ReadColumn } from './stored-column'
import { buildValidate } from './validation'

const namePattern = /^[a-z0-9][a-z0-9_-]*$/

/**
 * Builds the view of an entity from its metadata and from the options that apply to a principal.
 * @param allNames returns the names that filter objects may use
 * @returns undefined if the key or the access rule is invalid, which has been reported
 */
export function buildResource(
  registration: Registration,
  context: MountContext,
  allNames: (metadata: EntityMetadata) => FilterNames,
  report: Report,
): ResourceView | undefined {
  const { metadata, options } = registration
  const name = options.name ?? metadata.name.toLowerCase()
  if (typeof name !== 'string') report(`"name" must be a string, not ${JSON.stringify(name)}`)
  else if (!namePattern.test(name)) {
    report(`"${name}" cannot be used in a path; set the option "name" to lower-case letters, digits, "-" and "_"`)
  }
  if (typeof (options.description ?? '') !== 'string') {
    report(`"description" must be a string, not ${JSON.stringify(options.description)}`)
  }
  if (typeof (options.requireIfMatch ?? false) !== 'boolean') {
    report(`"requireIfMatch" must be true or false, not ${JSON.stringify(options.requireIfMatch)}`)
  }
  checkProperties(registration, context, report)
  checkTargets(metadata, report)
  checkJoinedNames(registration, report)
  checkDiscriminator(metadata, report)
  const { shown, hidden } = buildFields(registration, context, report)
  const rule = buildRule(registration, context, report)
  const owner = findOwner(registration, [...shown, ...hidden], context, report)
  const outputFields = buildOutputFields(registration, shown, report)
  const lifecycle = lifecycleOf(metadata, context.dataSource)
  const validate = buildValidate(metadata)
  const shownColumns = [
    ...new Set<ReadColumn>(
      [...outputFields, ...(owner === undefined ? [] : [owner.field])].flatMap(({ columns }) => columns),
    ),
  ]
  const callsListeners = lifecycle.load || lifecycle.write || (lifecycle.recover && options.may?.restore !== undefined)
  const needsEntity = callsListeners || validate !== undefined || metadata.treeType !== undefined
  const references = [...shown, ...hidden].filter(({ relation }) => relation !== undefined)
  const readColumns = addReferenceColumns(shownColumns, references)
  const entityColumns = needsEntity ? addEntityColumns(readColumns, metadata, context) : readColumns
  const writableFields = [...hidden.filter((field) => field.insertable), ...outputFields]
  const names = buildFilterNames(outputFields, buildRelations(registration))
  const links = linkView(registration, name, context, allNames, report)
  const allNamesHere = (): FilterNames => allNames(metadata)
  const [key] = outputFields
  if (key === undefined) return undefined
  const apiKey = buildApiKeyFields(registration, context)
  const view: ResourceView = {
    name,
    description: options.description ?? metadata.comment,
    metadata,
    rule,
    fieldPermissions: context.fieldPermissions.get(metadata) ?? [],
    // The rows of a database view belong to other tables.
    writable: rule.writes !== false && !registration.isReadOnly && metadata.tableType !== 'view',
    key,
    ...names,
    columns: lifecycle.load ? entityColumns : shownColumns,
    entityColumns,
    writableFields: new Map(writableFields.map((field) => [field.name, field])),
    writableEmbedded: new Set(writableFields.flatMap(({ path }) => prefixesOf(path))),
    owner: owner?.field,
    ownerOf: owner?.ownerOf,
    apiKey,
    requireIfMatch: options.requireIfMatch === true,
    references,
    ...links,
    may: buildMay(registration, name, context, allNamesHere, report),
    preset: buildPreset(registration, name, allNamesHere, report),
    isGuarded:
      context.strictRelations ||
      links.rowScope !== undefined ||
      options.may !== undefined ||
      options.fields !== undefined,
    includes: buildIncludes(registration, report),
    aggregate: buildAggregate(registration, names.fields, lifecycle, context, report),
    formats: buildFormats(options, report),
    bulk: buildBulk(options, apiKey !== undefined, report),
    ...buildPaging(options, names.fields, lifecycle, report),
    validate,
    lifecycle,
  }
  checkApiKeyResource(registration, view, context, report)
  checkEngine(view, context.dataSource, report)
  return view
}

/**
 * The members of a view that differ between principals who have the same permissions for the resource, but not for
 * others: they lead to the views of other resources, or identify the view.
 */
export function linkView(
  registration: Registration,
  name: string,
  context: MountContext,
  allNames: (metadata: EntityMetadata) => FilterNames,
  report: Report,
): Pick<ResourceView, 'cacheKey' | 'related' | 'rowScope' | 'searchFields' | 'searchIndex' | 'nested'> {
  return {
    cacheKey: `${name}${context.viewSuffix}`,
    related: (relation) => {
      const related = context.byEntity.get(relation.inverseEntityMetadata)
      return related === undefined || isHiddenBy(related, relation) ? undefined : related
    },
    ...lazySearch(registration.options.search, () => context.byEntity.get(registration.metadata)),
    nested: lazyNested(registration, context),
    rowScope: buildRowScope(registration, name, context, () => allNames(registration.metadata), report),
  }
}

function buildPaging(
  { paging = 'pages', aggregate = false, formats = false }: ResourceOptions,
  fields: ResourceView['fields'],
  lifecycle: Lifecycle,
  report: Report,
): Pick<ResourceView, 'paging' | 'optionalParameters'> {
  if (paging !== 'pages' && paging !== 'keyset') {
    report(`"paging" must be "pages" or "keyset", not ${JSON.stringify(paging)}`)
  }
  const optionalParameters = new Set(
    optionalNames.filter(
      (name) =>
        !fields.has(name) &&
        (aggregate !== false || !isAggregateName(name)) &&
        (formats !== false || name !== 'format'),
    ),
  )
  if (paging === 'keyset' && !optionalParameters.has('after')) {
    report('"paging" is "keyset", but a field has the name of its parameter "after": set another name with "rename"')
  }
  if (paging === 'keyset' && lifecycle.load) {
    report(
      '"paging" must not be "keyset" if the entity has afterLoad listeners: cursors would reveal values that the listeners may hide',
    )
  }
  return { paging, optionalParameters }
}

/**
 * Adds the hidden columns of foreign keys of several columns. An update that writes some of the columns reads the others, to
 * check to which record the key refers.
 */
function addReferenceColumns(columns: readonly ReadColumn[], references: readonly Field[]): readonly ReadColumn[] {
  const composite = references.filter((field) => field.columns.length > 1)
  return [...new Set([...columns, ...composite.flatMap((field) => field.columns)])]
}

/** Adds the remaining columns of an entity: those that TypeORM selects by default, and the parent of a tree node. */
function addEntityColumns(
  columns: readonly ReadColumn[],
  metadata: EntityMetadata,
  { dataSource }: MountContext,
): readonly ReadColumn[] {
  const present = new Set(columns.map(({ column }) => column))
  const isParent = ({ relationMetadata }: ColumnMetadata): boolean => relationMetadata?.isTreeParent === true
  const others = metadata.columns.filter((column) => (column.isSelect || isParent(column)) && !present.has(column))
  return [...columns, ...others.map((column) => buildReadColumn(column, dataSource))]
}

/** Reports properties in options that the entity does not have. */
function checkProperties({ metadata, options }: Registration, { dataSource }: MountContext, report: Report): void {
  const { exclude, readOnly, rename = {} } = options
  const isRenaming = typeof rename === 'object' && rename !== null && !Array.isArray(rename)
  if (!isRenaming) report(`"rename" must be an object such as { title: 'name' }, not ${JSON.stringify(rename)}`)
  const lists = { exclude, readOnly, rename: isRenaming ? Object.keys(rename) : [] }
  for (const [option, names = []] of Object.entries(lists)) {
    if (!Array.isArray(names)) report(`"${option}" must be an array of properties, not ${JSON.stringify(names)}`)
    for (const property of Array.isArray(names) ? names : []) {
      if (!isPropertyOf(metadata, property)) report(unknownProperty(property, option, metadata, dataSource))
    }
  }
}
