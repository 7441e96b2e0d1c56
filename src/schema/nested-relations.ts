import type { DataSource } from 'typeorm'
import type { NestedKeys, ResourceOptions } from '../resource'
import type { MountContext } from './context'
import type { ColumnMetadata, RelationMetadata } from './metadata'
import { isNamed } from './property'
import type { Registration } from './registration'
import { junctionColumnsOf } from './relations'
import type { Junction, NestedLinks, NestedList, NestedRelation, ResourceView } from './resource-view'
import { buildStoredColumn, type StoredColumn } from './stored-column'

/** Member of the option `nested`. */
export type NestedEntry = string | NestedKeys

const none: ReadonlyMap<string, NestedRelation> = new Map()

/**
 * Returns a function for the relations in the option `nested` that the principals of a view may write. They lead to
 * resources that may not be built yet, so they are looked up when they are first needed.
 */
export function lazyNested(registration: Registration, context: MountContext): ResourceView['nested'] {
  const { nested } = registration.options
  if (nested === undefined || !Array.isArray(nested)) return () => none
  let relations: ReadonlyMap<string, NestedRelation> | undefined
  return () => {
    const view = context.byEntity.get(registration.metadata)
    relations ??= new Map(
      nested.flatMap((entry: NestedEntry) => {
        const found = view && findNested(view, registration, entry, context)
        return found === undefined || typeof found === 'string' ? [] : [[found.name, found] as const]
      }),
    )
    return relations
  }
}

/** The property that a member of the option names. */
export function propertyOfEntry(entry: NestedEntry): string {
  return typeof entry === 'string' ? entry : entry.field
}

/** Member that `include` adds next to a list: the path of the records that follow. */
export const nextName = (list: string): string => `${list}_next`
/** Member that `include` adds next to a list: the number of all related records. */
export const totalName = (list: string): string => `${list}_total`

/** Whether the option `nested` names a property. */
export function isNested({ nested }: ResourceOptions, property: string): boolean {
  return Array.isArray(nested) && nested.some((entry: NestedEntry) => propertyOfEntry(entry) === property)
}

/** What the relations of the option depend on. The registrations have the options that apply to the principals. */
export type NestedContext = Pick<MountContext, 'dataSource' | 'registrations'>

/**
 * Finds the relation that a member of the option names.
 * @returns the mistake of the option if records of the relation cannot be written; it continues the sentence that starts
 * with the name
 */
export function findNested(
  view: ResourceView,
  { metadata, options }: Registration,
  entry: NestedEntry,
  { dataSource, registrations }: NestedContext,
): NestedRelation | string {
  const property = propertyOfEntry(entry)
  const relation = metadata.relations.find(({ propertyPath }) => propertyPath === property)
  if (relation === undefined) {
    const toMany = metadata.relations.filter((one) => one.isOneToMany || one.isManyToMany)
    return `is not a relation; relations to many: ${toMany.map(({ propertyPath }) => propertyPath).join(', ') || 'none'}`
  }
  if (!relation.isOneToMany && !relation.isManyToMany) return 'leads to one record; bodies have its foreign key'
  if (relation.embeddedMetadata !== undefined) return 'is in an embedded entity, whose relations cannot be written'
  if (isNamed(property, options.readOnly)) return 'is in "readOnly"; remove it from one of them'
  if (isNamed(property, options.exclude)) return 'is in "exclude"; remove it from one of them'
  const target = view.related(relation)
  if (target === undefined || !view.relations.has(property)) {
    return `leads to ${relation.inverseEntityMetadata.name}, which is not a resource or hides the relation`
  }
  if (relation.isManyToMany && isReadOnlyInverse(relation, registrations)) {
    return (
      `leads to ${target.name}, where the other side of the relation, "${relation.inverseRelation?.propertyPath}", is in ` +
      '"readOnly"; remove the other side from "readOnly", or this side from "nested"'
    )
  }
  return relation.isManyToMany
    ? linksOf(view, relation, target, entry, dataSource)
    : listOf(view, relation, target, entry)
}

/**
 * Whether the other side of a many-to-many relation is read-only in the resource of the related records: both sides write the
 * same links.
 */
function isReadOnlyInverse(
  { inverseRelation, inverseEntityMetadata }: RelationMetadata,
  registrations: NestedContext['registrations'],
): boolean {
  const related = registrations.find(({ metadata }) => metadata === inverseEntityMetadata)
  return inverseRelation !== undefined && isNamed(inverseRelation.propertyPath, related?.options.readOnly)
}

function listOf(
  view: ResourceView,
  relation: RelationMetadata,
  target: ResourceView,
  entry: NestedEntry,
): NestedList | string {
  if (typeof entry !== 'string') return 'is not a many-to-many relation, so it has no "ids"'
  if (!target.writable) return `leads to ${target.name}, which cannot be written`
  if (target.apiKey !== undefined) return `leads to ${target.name}: the text of new API keys would not be shown`
  if (target.requireIfMatch) {
    return `leads to ${target.name}, which has "requireIfMatch", but a body has no ETags of its records`
  }
  const inverse = relation.inverseRelation?.propertyPath
  const foreignKey = target.outputFields.find((field) => field.relation && field.relation.propertyPath === inverse)
  const refersToKey =
    foreignKey !== undefined &&
    foreignKey.columns.length === view.key.columns.length &&
    areKeyColumns(
      view,
      foreignKey.columns.map(({ column }) => column),
    )
  if (!refersToKey)
    return `leads to ${target.name}, whose foreign key must be shown and refer to the key of ${view.name}`
  return { type: 'list', name: entry, relation, target, foreignKey }
}

function linksOf(
  view: ResourceView,
  relation: RelationMetadata,
  target: ResourceView,
  entry: NestedEntry,
  dataSource: DataSource,
): NestedLinks | string {
  const name = typeof entry === 'string' ? `${entry.replace(/s$/, '')}_ids` : entry.ids
  const metadata = relation.junctionEntityMetadata
  const columns = junctionColumnsOf(relation)
  if (metadata === undefined || columns === undefined) return 'has no junction table'
  const isEntity = dataSource.entityMetadatas.some((one) => one !== metadata && one.tablePath === metadata.tablePath)
  if (isEntity) return `has the junction table "${metadata.tableName}", which is also the table of an entity`
  const { own, related } = columns
  if (!areKeyColumns(view, own) || !areKeyColumns(target, related)) {
    return 'has a junction table that refers to other columns than the keys'
  }
  const junction: Junction = {
    metadata,
    own: inOrderOfKey(view, own, dataSource),
    related: inOrderOfKey(target, related, dataSource),
  }
  return { type: 'links', name, relation, target, junction }
}

/** Whether the columns of a foreign key refer to the columns of a resource's key. */
function areKeyColumns({ key }: ResourceView, columns: readonly ColumnMetadata[]): boolean {
  return key.columns.every(({ column }) => columns.some((one) => refersTo(one, column)))
}

/** Entities that share a table have a copy of a column each: their names in the database are the same. */
function refersTo({ referencedColumn }: ColumnMetadata, column: ColumnMetadata): boolean {
  return referencedColumn?.databaseName === column.databaseName
}

function inOrderOfKey(
  { key }: ResourceView,
  columns: readonly ColumnMetadata[],
  dataSource: DataSource,
): readonly StoredColumn[] {
  return key.columns.flatMap(({ column }) => {
    const found = columns.find((one) => refersTo(one, column))
    return (found && buildStoredColumn(found, dataSource)) ?? []
  })
}
