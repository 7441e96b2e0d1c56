import type { Principal } from '../access/rule'
import type {
  FilterNames,
  PolicyFunction,
  ResourceView,
  RowScope,
  ThroughScope,
  WriteAction,
  WriteState,
} from '../schema/resource-view'
import type { ParsedFilterObject } from './filter-object'
import { ownerKey } from './owner'
import {
  buildShape,
  callPolicy,
  type FiltersByState,
  type PolicyFilter,
  requiredFilters,
  valuesOf,
} from './policy-function'
import {
  type Comparison,
  type Condition,
  type Exists,
  isDecidedByRecord,
  type PermissionCondition,
  type Query,
  rootAlias,
  type VisibilityCondition,
} from './query'
import type { QueryShapeCache } from './query-shape'
import type { QueryShape } from './shape'

/** Condition of a row scope or of `may` for one principal. */
export interface ResolvedPolicy {
  /** Cache key of the condition: two policies with the same key have the same condition. Their values may differ. */
  readonly key: string
  readonly condition: Condition
  readonly values: Query['values']
}

/** State in which a write first checks its record against `may`. A record to create exists only after the write. */
const firstCheckedState: Readonly<Record<WriteAction, WriteState>> = {
  create: 'after',
  update: 'before',
  delete: 'before',
  restore: 'before',
}

/** Condition that every record matches. */
const everyRecord: ResolvedPolicy = { key: 'all', condition: { type: 'and', conditions: [] }, values: [] }
/** Condition that no record matches. */
const noRecord: ResolvedPolicy = { key: 'none', condition: { type: 'or', conditions: [] }, values: [] }

/**
 * The policies of all resources for the principal of one request: what the functions of the options `scope` and `may`
 * return (specification: Row scopes, Permissions). They are called when they are first needed, and at most once.
 */
export class Policies {
  /** The filters that the functions have returned. */
  readonly #filters = new Map<PolicyFunction, FiltersByState>()
  /** Whether the access rules of related resources permit the principal to read them: of those that were called. */
  readonly #readable = new Map<FilterNames, boolean>()

  /**
   * @param shapes cache of the conditions, without their values
   * @param mayRead whether the access rule of the resource with this name permits the principal to read it.
   * Default: never. This is for conditions in which no request follows a relation
   */
  constructor(
    readonly principal: Principal,
    readonly shapes: QueryShapeCache,
    readonly mayRead: (resource: string) => Promise<boolean> = async () => false,
  ) {}

  /**
   * Calls the access rules of related resources. If the rule of a resource refuses, or was not called, the records of this
   * resource do not exist for the request (specification: Access through relations).
   */
  async checkAccess(related: Iterable<FilterNames>): Promise<void> {
    for (const view of related) {
      if (!this.#readable.has(view)) this.#readable.set(view, await this.mayRead(view.name))
    }
  }

  /** Replaces a visibility condition or a permission condition by the condition for the principal. */
  resolve(condition: VisibilityCondition | PermissionCondition): ResolvedPolicy {
    if (condition.type === 'permission') {
      const { view, action, state } = condition
      if (action === 'restore') return state === 'before' ? this.#resolveRestore(view) : everyRecord
      return this.#resolveFilter(view.may[action], state, rootAlias)
    }
    const { view, alias, isFollowed } = condition
    if (isFollowed && this.#readable.get(view) !== true) return noRecord
    const { rowScope } = view
    if (rowScope?.type === 'through') return resolveThrough(rowScope, alias)
    return this.#resolveFilter(rowScope?.filter, 'before', alias)
  }

  /** Whether `may` permits a write before the record is known; undefined if this depends on the record. */
  permits({ may }: ResourceView, action: WriteAction): boolean | undefined {
    const policy = may[action]
    if (policy === undefined) return action !== 'restore'
    const result = this.#filtersOf(policy)[firstCheckedState[action]]
    return typeof result === 'boolean' ? result : undefined
  }

  /** Whether the row scope or `may` restricts the records that the principal can write. */
  restrictsWrites({ rowScope, may }: ResourceView, action: WriteAction): boolean {
    if (this.#restricts(rowScope)) return true
    const policy = may[action]
    if (policy === undefined) return false
    const { before, after } = this.#filtersOf(policy)
    // With `restore`, the owner of the record must be the principal.
    return before !== true || after !== true || action === 'restore'
  }

  /**
   * Whether the record alone decides whether the principal may see it, and write it as it is stored: no records of other
   * tables do.
   */
  areDecidedByRecord({ rowScope, may }: ResourceView, action: WriteAction): boolean {
    if (action === 'restore' || rowScope?.type === 'through') return false
    const policies = [rowScope?.filter, may[action]]
    return policies.every((policy) => isDecidedByRecord(this.#resolveFilter(policy, 'before', rootAlias).condition))
  }

  /** Whether there can be records of a resource to which a request of the principal may not follow a relation. */
  restrictsRelated(view: FilterNames): boolean {
    return view.isGuarded && (this.#readable.get(view) !== true || this.#restricts(view.rowScope))
  }

  /** Whether the principal may not see every record. A scope that follows a relation excludes records without a related one. */
  #restricts(rowScope: RowScope | undefined): boolean {
    return rowScope !== undefined && (rowScope.type === 'through' || this.#filtersOf(rowScope.filter).before !== true)
  }

  /**
   * The comparisons that every record must match after a write, with their values: the filters of the policy's filter
   * object that are not in a group.
   */
  requiredComparisons(policy: PolicyFunction): readonly (readonly [Comparison, readonly unknown[]])[] {
    const filter = this.#filtersOf(policy).after
    if (typeof filter === 'boolean') return []
    const shape = this.#shapeOf(policy, filter, rootAlias)
    const values = valuesOf(policy.title, filter.filters, shape)
    return requiredFilters(filter).flatMap((index) => {
      const comparison = shape.filters[index]
      return comparison === undefined ? [] : [[comparison, values[comparison.valuesIndex] ?? []]]
    })
  }

  /** The soft-deleted records that the principal may restore: of a resource with owners, those of the principal. */
  #resolveRestore(view: ResourceView): ResolvedPolicy {
    const { may, owner, ownerOf } = view
    if (may.restore === undefined) return noRecord
    const permitted = this.#resolveFilter(may.restore, 'before', rootAlias)
    if (owner === undefined) return permitted
    const { principal } = this
    if (principal.id === null || (ownerOf !== undefined && ownerOf(principal) === undefined)) return noRecord
    const { key, condition, values } = permitted
    const isOwner: Condition = {
      type: 'compare',
      on: { alias: rootAlias, field: owner },
      operator: 'eq',
      valuesIndex: values.length,
    }
    return {
      key: `owner ${key}`,
      condition: { type: 'and', conditions: [isOwner, condition] },
      values: [...values, [ownerKey(view, principal)]],
    }
  }

  #resolveFilter(policy: PolicyFunction | undefined, state: WriteState, alias: string): ResolvedPolicy {
    const filter: PolicyFilter = policy === undefined || this.#filtersOf(policy)[state]
    if (policy === undefined || typeof filter === 'boolean') return filter ? everyRecord : noRecord
    const shape = this.#shapeOf(policy, filter, alias)
    return { key: filter.key, condition: shape.where, values: valuesOf(policy.title, filter.filters, shape) }
  }

  /** The filters of a policy for the principal. The function is called the first time. */
  #filtersOf(policy: PolicyFunction): FiltersByState {
    const results = this.#filters.get(policy) ?? callPolicy(policy, this.principal)
    this.#filters.set(policy, results)
    return results
  }

  /** The condition of a filter object on the table with an alias, from the cache or built. */
  #shapeOf({ title, names }: PolicyFunction, filter: ParsedFilterObject, alias: string): QueryShape {
    const cacheKey = `filter ${names.name} ${alias} ${filter.key}`
    const cached = this.shapes.get(cacheKey)
    if (cached !== undefined) return cached
    const shape = buildShape(title, names, filter, alias, cacheKey)
    this.shapes.set(cacheKey, shape)
    return shape
  }
}

/** The condition of the row scope `{ through }`: the related record exists, and is in the row scope of its resource. */
function resolveThrough({ relation, target: targetOf }: ThroughScope, alias: string): ResolvedPolicy {
  const target = targetOf()
  if (target === undefined) return noRecord
  const related = `${alias}_1`
  // The option follows the relation, not the request: no access rule is called.
  const visible = { type: 'visible', alias: related, view: target, isFollowed: false } as const
  const condition: Exists = {
    type: 'exists',
    first: { alias: related, from: alias, relation, visible },
    joins: [],
    where: { type: 'compare', on: { alias: related, field: target.key }, operator: 'is', valuesIndex: 0 },
  }
  return { key: 'through', condition, values: [['not_null']] }
}
