import { type FieldErrors, ValueError } from '../errors'
import type { IncludeRequest } from '../request/include'
import type { Field } from '../schema/field'
import { type RelationMetadata, withJoinColumns } from '../schema/metadata'
import { isToMany, junctionColumnsOf } from '../schema/relations'
import type { ResourceView } from '../schema/resource-view'
import { listParametersOf } from '../schema/search-fields'
import type { StoredColumn } from '../schema/stored-column'
import type { ConditionBuilder } from './condition-builder'
import { narrowView, parseFieldSelection } from './field-selection'
import type { Step } from './path'
import { type InclusionShape, type ListShape, noInclusion, type QueryShape, type RecordShape } from './shape'

/** Resolves the names in includes, and joins the tables of the records. */
export class InclusionBuilder {
  /** The joined records, at all depths. */
  readonly records: RecordShape[] = []
  /** The lists of the record and of the joined records. */
  readonly lists: ListShape[] = []

  constructor(
    readonly conditions: ConditionBuilder,
    readonly shapeOf: (view: ResourceView, request: IncludeRequest, errors: FieldErrors) => QueryShape,
  ) {}

  /**
   * @param through to-one relations that lead to the view
   * @param errors receives every name that cannot be resolved
   */
  build(
    view: ResourceView,
    includes: readonly IncludeRequest[],
    errors: FieldErrors,
    through: readonly Step[] = [],
  ): InclusionShape {
    if (includes.length === 0) return noInclusion.inclusion
    const records: RecordShape[] = []
    const lists: ListShape[] = []
    for (const [index, request] of includes.entries()) {
      const inner = errors.within(`include.${request.name}`)
      errors.try('include', () => {
        const { relation, target, path } = findRelation(view, request.name)
        requireParameters(target, request)
        const selection = parseFieldSelection(target, request.fields, inner)
        const shown = selection === undefined ? target : narrowView(target, selection)
        if (leadsToOne(relation)) {
          requireNoListParameters(request)
          const steps = [...through, { relation, target, isSingle: true }]
          const { alias } = this.conditions.fieldRef({ through: steps, field: target.key })
          const inclusion = this.build(target, request.includes, inner, steps)
          const record = { path, alias, view: shown, inclusion, index }
          records.push(record)
          this.records.push(record)
        } else {
          requireFreeNames(view, request)
          const shape = this.shapeOf(target, request, inner)
          const foreignKey = foreignKeyTo(view, target, relation)
          const list = { path, relation, view: shown, shape, foreignKey, index }
          lists.push(list)
          this.lists.push(list)
        }
      })
    }
    const resources = [
      ...records.flatMap((record) => [record.view.name, ...record.inclusion.resources]),
      ...lists.flatMap((list) => [list.view.name, ...list.shape.inclusion.resources]),
    ]
    return { records, lists, resources: [...new Set(resources)] }
  }
}

/** Whether a relation leads to at most one record: a foreign key on either side of a one-to-one relation, or many-to-one. */
export function leadsToOne(relation: RelationMetadata): boolean {
  return !isToMany(relation) || relation.isOneToOne
}

/** The field of {@link IncludedList.foreignKey}. */
export function foreignKeyTo(
  { key }: ResourceView,
  target: ResourceView,
  relation: RelationMetadata,
): Field | undefined {
  if (relation.isManyToMany) return junctionKeyTo(key, relation)
  const { inverseRelation, isOneToMany } = relation
  if (inverseRelation === undefined || !isOneToMany) return undefined
  const field = [...target.fields.values()].find((one) => one.relation?.propertyPath === inverseRelation.propertyPath)
  const columns = [...key.columns, ...(field?.columns ?? [])]
  const areIntegers = columns.length === 2 && columns.every((column) => isPlainInteger(column))
  return areIntegers && withJoinColumns(inverseRelation).joinColumns[0]?.referencedColumn === key.columns[0]?.column
    ? field
    : undefined
}

/** The key of a record as the junction table of a many-to-many relation stores it. */
function junctionKeyTo(key: Field, relation: RelationMetadata): Field | undefined {
  const [column, ...otherColumns] = key.columns
  const [own, ...others] = junctionColumnsOf(relation)?.own ?? []
  if (column === undefined || own === undefined || otherColumns.length + others.length > 0) return undefined
  const refersToKey = isPlainInteger(column) && own.referencedColumn === column.column
  return refersToKey ? { ...key, columns: [{ ...column, column: own }] } : undefined
}

const isPlainInteger = ({ valueType, valueColumn }: StoredColumn): boolean =>
  valueType.name === 'integer' && valueColumn.transformer === undefined

/** A relation that can be included. */
interface FoundRelation {
  readonly relation: RelationMetadata
  readonly target: ResourceView
  /** Path of the related records in the record. */
  readonly path: readonly string[]
}

/** The relations of a view by the names that `include` may use. */
export function includableRelations(view: ResourceView): ReadonlyMap<string, FoundRelation> {
  const found = new Map<string, FoundRelation>()
  const add = (name: string, relation: RelationMetadata): void => {
    const target = view.related(relation)
    const isAllowed = view.includes === 'all' || view.includes.includes(relation.propertyPath)
    if (target !== undefined && isAllowed) found.set(name, { relation, target, path: name.split('__') })
  }
  for (const [name, field] of view.fields) {
    // `assignee_id` is the foreign key, `assignee` the related record.
    if (field.relation !== undefined && name !== field.name) add(name, field.relation)
  }
  for (const [name, relation] of view.relations) if (!view.fields.has(name)) add(name, relation)
  return found
}

/** @throws {ValueError} */
function findRelation(view: ResourceView, name: string): FoundRelation {
  const relations = includableRelations(view)
  const found = relations.get(name)
  if (found !== undefined) return found
  const names = [...relations.keys()].join(', ')
  throw new ValueError(
    `names "${name}", which is not a relation of ${view.name} that can be included; relations: ${names || 'none'}`,
  )
}

/** @throws {ValueError} if a field or a relation of the record has a name that the include needs */
function requireFreeNames(view: ResourceView, { name, count }: IncludeRequest): void {
  for (const needed of [`${name}_next`, ...(count === undefined ? [] : [`${name}_total`])]) {
    if (!isFreeName(view, needed)) {
      throw new ValueError(`cannot add ${name}, because records have a field "${needed}"`)
    }
  }
}

/** Whether an include can add a member with this name to records. */
export function isFreeName({ fields, relations }: ResourceView, name: string): boolean {
  return !fields.has(name) && !relations.has(name)
}

/** @throws {ValueError} for a parameter that lists of the related records do not have */
function requireParameters(target: ResourceView, { name, fields, includes, search }: IncludeRequest): void {
  const parameters = listParametersOf(target)
  const used = { fields: fields !== undefined, include: includes.length > 0, search: search.length > 0 }
  for (const parameter of ['fields', 'include', 'search'] as const) {
    if (used[parameter] && !parameters.has(parameter)) {
      throw new ValueError(`gives ${parameter} for ${name}, but lists of ${target.name} do not have this parameter`)
    }
  }
}

/** @throws {ValueError} */
function requireNoListParameters({ name, listParameters: [first] }: IncludeRequest): void {
  if (first === undefined) return
  throw new ValueError(`gives ${first} for ${name}, which is one record; only fields and include are possible`)
}
