import type { Principal } from '../access/rule'
import { FieldErrors } from '../errors'
import type { Field } from '../schema/field'
import type {
  FilterNames,
  PolicyFunction,
  ResourceView,
  ThroughScope,
  WriteAction,
  WriteState,
} from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import { ConditionBuilder } from './condition-builder'
import type { ParsedFilterObject } from './filter-object'
import {
  callFilter,
  callPreset,
  type FilterResult,
  type FilterResults,
  requiredFilters,
  requireNoErrors,
  valuesOf,
} from './policy-function'
import {
  type ChangeSet,
  type Condition,
  type Exists,
  type PermissionCondition,
  type Query,
  type RowScopeCondition,
  rootAlias,
} from './query'
import type { QueryShape, QueryShapeCache } from './query-shape'

/** Condition of a row scope or of `may` for one principal. */
export interface ResolvedPolicy {
  /** Determines the condition, without its values. */
  readonly key: string
  readonly condition: Condition
  readonly values: Query['values']
}

/** Values that the application sets in a new record (specification: Presets). */
export interface Presets {
  readonly values: ChangeSet
  /** The fields whose values in the body are ignored: those of the option `preset`. */
  readonly overriding: ReadonlySet<Field>
}

export const noPresets: Presets = { values: new Map(), overriding: new Set() }

/** The state of the record in which `may` is checked first, for each write. */
const checkedFirst: Readonly<Record<WriteAction, WriteState>> = {
  create: 'after',
  update: 'before',
  delete: 'before',
}

/** Condition that every record matches. */
const everyRecord: ResolvedPolicy = { key: 'all', condition: { type: 'and', conditions: [] }, values: [] }
/** Condition that no record matches. */
const noRecord: ResolvedPolicy = { key: 'none', condition: { type: 'or', conditions: [] }, values: [] }

/**
 * The policies of all resources for the principal of one request: what the functions of the options `scope`, `may` and
 * `preset` return (specification: Row scopes, Permissions, Presets). Those of `scope` and `may` are called when they are
 * first needed, and at most once.
 */
export class Policies {
  /** What the functions have returned. */
  readonly #results = new Map<PolicyFunction, FilterResults>()
  /** Related resources whose access rules permit the principal to read them. */
  readonly #readable = new Set<FilterNames>()

  /**
   * @param shapes cache of the conditions
   * @param mayRead whether the access rule of a resource, which has this name, permits the principal to read it
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

  /** The condition of a row scope or of `may` for the principal. */
  resolve(condition: RowScopeCondition | PermissionCondition): ResolvedPolicy {
    if (condition.type === 'permission') {
      const { view, action, state } = condition
      return this.#resolveFilter(view.may[action], state, rootAlias)
    }
    const { view, alias, isFollowed } = condition
    if (isFollowed && !this.#readable.has(view)) return noRecord
    const { rowScope } = view
    if (rowScope?.type === 'through') return resolveThrough(rowScope, alias)
    return this.#resolveFilter(rowScope?.filter, 'before', alias)
  }

  /** Whether `may` permits a write before the record is known; undefined if this depends on the record. */
  permits({ may }: ResourceView, action: WriteAction): boolean | undefined {
    const policy = may[action]
    const result = policy === undefined || this.#resultsOf(policy)[checkedFirst[action]]
    return typeof result === 'boolean' ? result : undefined
  }

  /**
   * The values that a new record gets: those that the row scope or `may` requires to be equal, for fields that are not in
   * the body, and those of the option `preset`.
   */
  presetsOf(view: ResourceView): Presets {
    const { rowScope, may, preset } = view
    const forced = preset === undefined ? [] : [...callPreset(preset, this.principal)]
    const overriding = forced.map(([field, value]) => [writableFieldOf(view, field), value] as const)
    const scope = rowScope?.type === 'filter' ? rowScope.filter : undefined
    return {
      values: new Map([...this.#requiredValues(view, may.create), ...this.#requiredValues(view, scope), ...overriding]),
      overriding: new Set(overriding.map(([field]) => field)),
    }
  }

  /** The values that the filter of a row scope or of `may.create` requires new records to have. */
  #requiredValues(view: ResourceView, policy: PolicyFunction | undefined): readonly (readonly [Field, unknown])[] {
    const filter = policy === undefined || this.#resultsOf(policy).after
    if (policy === undefined || typeof filter === 'boolean') return []
    const shape = this.#shapeOf(policy, filter, rootAlias)
    const values = valuesOf(policy.title, filter.filters, shape)
    return requiredFilters(filter).flatMap((index) => {
      const { on, operator, valuesIndex = -1 } = shape.filters[index] ?? {}
      // The database generates the values of a generated column.
      if (on?.alias !== rootAlias || operator !== 'eq' || on.field.columns.some(isGenerated)) return []
      return [[writableFieldOf(view, on.field), values[valuesIndex]?.[0]]]
    })
  }

  #resolveFilter(policy: PolicyFunction | undefined, state: WriteState, alias: string): ResolvedPolicy {
    const filter: FilterResult = policy === undefined || this.#resultsOf(policy)[state]
    if (policy === undefined || typeof filter === 'boolean') return filter ? everyRecord : noRecord
    const shape = this.#shapeOf(policy, filter, alias)
    return { key: filter.key, condition: shape.where, values: valuesOf(policy.title, filter.filters, shape) }
  }

  #resultsOf(policy: PolicyFunction): FilterResults {
    const results = this.#results.get(policy) ?? callFilter(policy, this.principal)
    this.#results.set(policy, results)
    return results
  }

  /** The condition of a filter object on the table with an alias, from the cache or built. */
  #shapeOf({ title, names }: PolicyFunction, { filters, where, key }: ParsedFilterObject, alias: string): QueryShape {
    const cacheKey = `filter ${names.name} ${alias} ${key}`
    const cached = this.shapes.get(cacheKey)
    if (cached !== undefined) return cached
    const errors = new FieldErrors()
    const builder = new ConditionBuilder(names, filters, noLimits, errors, alias)
    const { where: condition } = builder.build(where)
    requireNoErrors(errors, title)
    const shape = {
      cacheKey,
      joins: [],
      where: condition,
      ordering: [],
      filters: builder.comparisons,
      guardedViews: [],
    }
    this.shapes.set(cacheKey, shape)
    return shape
  }
}

const isGenerated = ({ column }: StoredColumn): boolean => column.isGenerated

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

/** The joins of the filters of an application have no limits. */
const noLimits = { joinDepth: Number.POSITIVE_INFINITY, joins: Number.POSITIVE_INFINITY }

/** The condition that the related record of a record is in its own row scope. */
function resolveThrough({ relation, target: targetOf }: ThroughScope, alias: string): ResolvedPolicy {
  const target = targetOf()
  if (target === undefined) return noRecord
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
