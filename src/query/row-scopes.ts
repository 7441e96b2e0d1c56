import type { Principal } from '../access/rule'
import { FieldErrors } from '../errors'
import type { Field } from '../schema/field'
import type { FilterNames, ResourceView, ThroughScope } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import { ConditionBuilder } from './condition-builder'
import { type ParsedFilterObject, parseFilterObject } from './filter-object'
import { parseObjectOperand } from './operand'
import { type ChangeSet, type Condition, type Exists, type Query, type RowScopeCondition, rootAlias } from './query'
import type { QueryShape, QueryShapeCache } from './query-shape'

/** Condition of a row scope for one principal. */
export interface ResolvedRowScope {
  /** Determines the condition, without its values. */
  readonly key: string
  readonly condition: Condition
  readonly values: Query['values']
}

/** Row scope that every record matches. */
const everything: ResolvedRowScope = { key: 'all', condition: { type: 'and', conditions: [] }, values: [] }
/** Row scope that no record matches. */
const nothing: ResolvedRowScope = { key: 'none', condition: { type: 'or', conditions: [] }, values: [] }

/**
 * The row scopes of all resources for the principal of one request (specification: Row scopes). The function of a scope
 * is called when it is first needed, and at most once.
 */
export class RowScopes {
  /** What the functions of the scopes have returned. */
  readonly #filters = new Map<FilterNames, ParsedFilterObject | boolean>()
  /** Related resources whose access rules permit the principal to read them. */
  readonly #readable = new Set<FilterNames>()

  /**
   * @param shapes cache of the conditions
   * @param mayRead whether the access rule of a resource permits the principal to read it
   */
  constructor(
    readonly principal: Principal,
    readonly shapes: QueryShapeCache,
    readonly mayRead: (resource: string) => Promise<boolean>,
  ) {}

  /**
   * Calls the access rules of related resources. Until its rule has permitted reading, the records of a related resource
   * do not exist for the request (specification: Access through relations).
   */
  async checkAccess(related: Iterable<FilterNames>): Promise<void> {
    for (const view of related) {
      if (!this.#readable.has(view) && (await this.mayRead(view.name))) this.#readable.add(view)
    }
  }

  /** The condition of a row scope for the principal. */
  resolve({ view, alias, isFollowed }: RowScopeCondition): ResolvedRowScope {
    const { rowScope } = view
    if (rowScope === undefined) return everything
    if (isFollowed && !this.#readable.has(view)) return nothing
    if (rowScope.type === 'through') return resolveThrough(rowScope, alias)
    const filter = this.#filterOf(view)
    if (typeof filter === 'boolean') return filter ? everything : nothing
    const shape = this.#shapeOf(view, filter, alias)
    return { key: filter.key, condition: shape.where, values: valuesOf(view, filter, shape) }
  }

  /**
   * The values that every record in the row scope of a view has: those that the filter requires to be equal. A POST
   * that leaves these fields out gets them.
   */
  presetsOf(view: ResourceView): ChangeSet {
    const presets = new Map<Field, unknown>()
    const filter = this.#filterOf(view)
    if (typeof filter === 'boolean') return presets
    const shape = this.#shapeOf(view, filter, rootAlias)
    const values = valuesOf(view, filter, shape)
    for (const index of requiredFilters(filter)) {
      const { on, operator, valuesIndex = -1 } = shape.filters[index] ?? {}
      // The database generates the values of a generated column.
      if (on?.alias !== rootAlias || operator !== 'eq' || on.field.columns.some(isGenerated)) continue
      presets.set(writableFieldOf(view, on.field), values[valuesIndex]?.[0])
    }
    return presets
  }

  /** The filter object of a view's row scope; whether all records match if there is none. */
  #filterOf(view: FilterNames): ParsedFilterObject | boolean {
    const filter = this.#filters.get(view) ?? callScope(view, this.principal)
    this.#filters.set(view, filter)
    return filter
  }

  /** The condition of a filter object on the table with an alias, from the cache or built. */
  #shapeOf({ name, rowScope }: FilterNames, { filters, where, key }: ParsedFilterObject, alias: string): QueryShape {
    const cacheKey = `scope ${name} ${alias} ${key}`
    const cached = this.shapes.get(cacheKey)
    if (cached !== undefined) return cached
    if (rowScope?.type !== 'filter') throw new TypeError(`${name} has no filter`)
    const errors = new FieldErrors()
    const builder = new ConditionBuilder(rowScope.names, filters, noLimits, errors, alias)
    const { where: condition } = builder.build(where)
    requireNoErrors(errors, name)
    const shape = { cacheKey, joins: [], where: condition, ordering: [], filters: builder.comparisons, scopedViews: [] }
    this.shapes.set(cacheKey, shape)
    return shape
  }
}

/** @throws {TypeError} for a result that is neither a filter nor a boolean: a mistake of the application */
function callScope({ name, rowScope }: FilterNames, principal: Principal): ParsedFilterObject | boolean {
  if (rowScope?.type !== 'filter') return true
  const filter = rowScope.filterFor(principal)
  if (typeof filter === 'boolean') return filter
  if (filter instanceof Promise) {
    // Otherwise its rejection would end the process.
    filter.catch(() => undefined)
    throw new TypeError(`the scope of ${name} must not be async`)
  }
  try {
    return parseFilterObject(filter)
  } catch (cause) {
    throw cause instanceof TypeError ? new TypeError(`the scope of ${name}: ${cause.message}`) : cause
  }
}

const isGenerated = ({ column }: StoredColumn): boolean => column.isGenerated

/** Indexes of the filters that every record in scope matches: none if the scope is an array of filter objects. */
function requiredFilters({ where }: ParsedFilterObject): readonly number[] {
  return where
    .flatMap((node) => (typeof node === 'object' && node.type === 'and' ? node.members : []))
    .filter((member) => typeof member === 'number')
}

/**
 * The writable field of a view with the same columns as a field of a filter object; that field itself if bodies cannot
 * have it.
 */
function writableFieldOf({ writableFields }: ResourceView, field: Field): Field {
  const { columns } = field
  const isSame = ({ columns: own }: Field): boolean =>
    own.length === columns.length && own.every(({ column }, index) => column === columns[index]?.column)
  return [...writableFields.values()].find(isSame) ?? field
}

/** The filters of an application need no limits. */
const noLimits = { joinDepth: Number.POSITIVE_INFINITY, joins: Number.POSITIVE_INFINITY }

/** Parses the values of a filter object. @throws {TypeError} for a value that its field cannot have */
function valuesOf({ name }: FilterNames, { filters }: ParsedFilterObject, shape: QueryShape): Query['values'] {
  const errors = new FieldErrors()
  const values: (readonly unknown[])[] = []
  filters.forEach((filter, index) => {
    const comparison = shape.filters[index]
    if (comparison === undefined) throw new Error(`the scope of ${name} has a filter without a comparison`)
    const { on, operator, valuesIndex } = comparison
    values[valuesIndex] = errors.try(filter.name, () => parseObjectOperand(on.field, operator, filter)) ?? []
  })
  requireNoErrors(errors, name)
  return values
}

/** @throws {TypeError} with all errors, for the developer of the application */
function requireNoErrors(errors: FieldErrors, name: string): void {
  if (!errors.isEmpty) throw new TypeError(`the scope of ${name}: ${errors.text}`)
}

/** The condition that the related record of a record is in its own row scope. */
function resolveThrough({ relation, target: targetOf }: ThroughScope, alias: string): ResolvedRowScope {
  const target = targetOf()
  if (target === undefined) return nothing
  const related = `${alias}_1`
  const rowScope = { type: 'rowScope', alias: related, view: target, isFollowed: false } as const
  const condition: Exists = {
    type: 'exists',
    first: { alias: related, from: alias, relation, rowScope },
    joins: [],
    where: { type: 'compare', on: { alias: related, field: target.key }, operator: 'is', valuesIndex: 0 },
  }
  return { key: 'through', condition, values: [['not_null']] }
}
