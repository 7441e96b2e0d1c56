import { type FieldErrors, ValueError } from '../errors'
import type { Filter, FilterGroup, FilterNode } from '../request/groups'
import type { Limits } from '../request/limits'
import type { RelationMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import { isToMany } from '../schema/relations'
import { type FilterPath, parseFilterName, parseSortName, type SortPath } from './path'
import {
  type Combination,
  type Comparison,
  type Condition,
  type Join,
  type Order,
  rootAlias,
  type Scope,
} from './query'

/** A scope that is being filled. */
interface DraftScope {
  readonly joins: Join[]
  readonly conditions: Condition[]
}

/** Where a path of relations ends. */
interface End {
  readonly alias: string
  /** The subquery of its last to-many relation; undefined for a path of to-one relations, which is joined to the statement itself. */
  readonly some: DraftScope | undefined
}

/** Conditions that are combined with AND: those of the request, or of one group. */
interface Conjunction {
  readonly conditions: Condition[]
  /** By their relations, the ends of its own subqueries: its filters through the same to-many relation ask the same related record. */
  readonly ends: Map<string, End>
}

/** Of an ordering, which follows no to-many relations. */
const noGroup: Conjunction = { conditions: [], ends: new Map() }

/** Resolves the names of filters and orderings, and joins the tables that they need. */
export class ScopeBuilder {
  readonly comparisons: (Comparison | undefined)[] = []
  readonly #joins: Join[] = []
  /** By their relations, the ends of paths of to-one relations. */
  readonly #ends = new Map<string, End>()
  #slots = 0
  #aliases = 0
  #cost = 0

  constructor(
    readonly resource: Resource,
    readonly filters: readonly Filter[],
    readonly limits: Limits,
    readonly errors: FieldErrors,
  ) {}

  /** @param nodes all of which must hold; filters of one name become one comparison with several values */
  build(nodes: readonly FilterNode[]): Scope {
    const all: Conjunction = { conditions: [], ends: new Map() }
    const known = new Map<string | undefined, Comparison | undefined>()
    for (const node of nodes) {
      if (typeof node !== 'number') this.#addGroup(node, all)
      else {
        const name = this.filters[node]?.name
        if (known.has(name)) this.comparisons[node] = known.get(name)
        else known.set(name, this.#addFilter(node, all))
      }
    }
    return { joins: this.#joins, where: combine('and', all.conditions) }
  }

  /** The key comes last, so that the order is total and pages neither repeat nor skip (specification: Ordering). */
  order(names: readonly string[]): readonly Order[] {
    const orders = new Map<string, Order>()
    for (const text of names) {
      if (this.errors.isFull) break
      this.errors.try('ordering', () => {
        const descending = text.startsWith('-')
        const path = parseSortName(this.resource, descending ? text.slice(1) : text, this.limits)
        this.#addOrders(path, descending, orders)
      })
    }
    this.#addOrders({ through: [], target: this.resource, field: this.resource.key, nulls: undefined }, false, orders)
    return [...orders.values()]
  }

  #addOrders(path: SortPath, descending: boolean, to: Map<string, Order>): void {
    const { through, target, field, nulls = descending ? 'last' : 'first' } = path
    const lead = through.map(({ propertyPath }) => `${propertyPath}/`).join('')
    const { alias } = this.#follow(through, noGroup)
    for (const column of field.columns) {
      const name = lead + column.column.propertyPath
      // Sorting by it once more changes nothing.
      const isShown = !target.lifecycle.load && column.valueColumn.transformer === undefined
      if (!to.has(name)) to.set(name, { name, alias, column, descending, nulls, isShown })
    }
  }

  #all(nodes: readonly FilterNode[]): Condition {
    const group: Conjunction = { conditions: [], ends: new Map() }
    for (const node of nodes) {
      if (typeof node === 'number') this.#addFilter(node, group)
      else this.#addGroup(node, group)
    }
    return combine('and', group.conditions)
  }

  #addGroup({ type, members }: FilterGroup, to: Conjunction): void {
    if (type === 'and') addTo(to, this.#all(members))
    else if (type === 'not') addTo(to, { type, condition: this.#all(members) })
    else
      addTo(
        to,
        combine(
          type,
          members.map((member) => this.#all([member])),
        ),
      )
  }

  #addFilter(index: number, to: Conjunction): Comparison | undefined {
    const filter = this.filters[index]
    if (filter === undefined || this.errors.isFull) return undefined
    const comparison = this.errors.try(filter.name, () => this.#compare(filter, to))
    this.comparisons[index] = comparison
    return comparison
  }

  /** @throws {ValueError} */
  #compare({ name }: Filter, to: Conjunction): Comparison {
    const path = parseFilterName(this.resource, name, this.limits)
    const { through, field, operator } = path
    const { alias, some } = this.#follow(through, to)
    const suggestion = suggestFilter(name, path)
    const comparison = { type: 'compare', on: { alias, field }, operator, slot: this.#slots++, suggestion } as const
    addTo(some ?? to, comparison)
    return comparison
  }

  /** Joins what a path goes through, each relation once. */
  #follow(through: readonly RelationMetadata[], to: Conjunction): End {
    let end: End = { alias: rootAlias, some: undefined }
    let path = ''
    for (const relation of through) {
      path += `${relation.propertyPath}/`
      const ends = end.some === undefined && !isToMany(relation) ? this.#ends : to.ends
      const next = ends.get(path) ?? this.#join(end, relation, to)
      ends.set(path, next)
      end = next
    }
    return end
  }

  /** Each to-many relation begins a subquery: no row comes twice, and a chain of them costs the sum of its relations, not the product. */
  #join({ alias: from, some }: End, relation: RelationMetadata, to: Conjunction): End {
    // A subquery reads all of its tables, whichever records the rest of the request asks for.
    this.#cost += isToMany(relation) ? 2 : 1
    if (this.#cost > this.limits.joins) {
      throw new ValueError(
        `joins more tables than the ${this.limits.joins} allowed; one through a relation to many counts twice`,
      )
    }
    const join = { alias: `t${++this.#aliases}`, from, relation }
    if (!isToMany(relation)) {
      const { joins } = some ?? { joins: this.#joins }
      joins.push(join)
      return { alias: join.alias, some }
    }
    const own: DraftScope = { joins: [], conditions: [] }
    addTo(some ?? to, {
      type: 'some',
      first: join,
      joins: own.joins,
      where: { type: 'and', conditions: own.conditions },
    })
    return { alias: join.alias, some: own }
  }
}

/** A filter by a text of the related record, for one by a foreign key. */
function suggestFilter(name: string, { target, field: { relation }, operator }: FilterPath): string | undefined {
  const related = relation && target.related(relation)
  const text = related?.outputFields.find(({ valueType }) => valueType.operators.includes('like'))
  return text && operator === 'eq' ? `${name.replace(/_id$/, '')}__${text.name}` : undefined
}

/** Comparisons come first: they cost less than subqueries, and SQLite evaluates conditions in their order. */
function addTo({ conditions }: Pick<Conjunction, 'conditions'>, condition: Condition): void {
  const other = condition.type === 'compare' ? conditions.findIndex(({ type }) => type !== 'compare') : -1
  conditions.splice(other < 0 ? conditions.length : other, 0, condition)
}

/** One condition need not be combined. */
function combine(type: Combination['type'], conditions: readonly Condition[]): Condition {
  const [only] = conditions
  return only !== undefined && conditions.length === 1 ? only : { type, conditions }
}
