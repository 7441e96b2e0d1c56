import { type FieldErrors, ValueError } from '../errors'
import type { Filter, FilterGroup, FilterNode } from '../request/groups'
import type { Limits } from '../request/limits'
import type { RelationMetadata } from '../schema/metadata'
import { isToMany } from '../schema/relations'
import type { ResourceView } from '../schema/resource-view'
import { type FilterPath, parseFilterName, parseSortName, type SortPath } from './path'
import {
  type Combination,
  type Comparison,
  type Condition,
  type Join,
  rootAlias,
  type Scope,
  type SortColumn,
  tableAlias,
} from './query'

/** Scope under construction. */
interface DraftScope {
  readonly joins: Join[]
  readonly conditions: Condition[]
}

/** End of a path of relations. */
interface PathEnd {
  /** Alias of the table that the path leads to. */
  readonly alias: string
  /**
   * Subquery that contains the table; undefined if the path has only to-one relations, which the outer SELECT joins.
   */
  readonly subquery: DraftScope | undefined
}

/** Conditions that are combined with AND: those of the whole request, or of one group. */
interface Conjunction {
  readonly conditions: Condition[]
  /**
   * Path ends inside subqueries, by path. Filters of one conjunction through the same to-many relation share a
   * subquery, so that they test the same related record (specification: Filters through relations).
   */
  readonly ends: Map<string, PathEnd>
}

/** Argument of `#follow` for orderings. They follow only to-one relations, so nothing is added to it. */
const noConjunction: Conjunction = { conditions: [], ends: new Map() }

/** Resolves the names in filters and orderings, and collects the joins that they need. */
export class ScopeBuilder {
  /** Comparison of each filter, by its index in `filters`; undefined for a filter with an error. */
  readonly comparisons: (Comparison | undefined)[] = []
  readonly #joins: Join[] = []
  /** Path ends in the outer SELECT (only to-one relations), by path. */
  readonly #ends = new Map<string, PathEnd>()
  #comparisonCount = 0
  #aliasCount = 0
  /** Number of joined tables; a table of a to-many relation counts twice. At most `limits.joins`. */
  #joinCount = 0

  constructor(
    readonly view: ResourceView,
    readonly filters: readonly Filter[],
    readonly limits: Limits,
    readonly errors: FieldErrors,
  ) {}

  /**
   * Builds the joins and the AND of all nodes. Outside of groups, filters with the same name become one comparison with
   * several values (specification: Repeated parameters).
   */
  build(nodes: readonly FilterNode[]): Scope {
    const root: Conjunction = { conditions: [], ends: new Map() }
    const comparisonByName = new Map<string | undefined, Comparison | undefined>()
    for (const node of nodes) {
      if (typeof node !== 'number') this.#addGroup(node, root)
      else {
        const name = this.filters[node]?.name
        if (comparisonByName.has(name)) this.comparisons[node] = comparisonByName.get(name)
        else comparisonByName.set(name, this.#addFilter(node, root))
      }
    }
    return { joins: this.#joins, where: combine('and', root.conditions) }
  }

  /**
   * Resolves the names in `ordering` to sort columns and appends the key. The order is then total, so that pages
   * neither repeat nor skip records (specification: Ordering).
   */
  sortColumns(names: readonly string[]): readonly SortColumn[] {
    const sortColumns = new Map<string, SortColumn>()
    for (const text of names) {
      if (this.errors.isFull) break
      this.errors.try('ordering', () => {
        const descending = text.startsWith('-')
        const path = parseSortName(this.view, descending ? text.slice(1) : text, this.limits)
        this.#addSortColumns(path, descending, sortColumns)
      })
    }
    this.#addSortColumns({ through: [], target: this.view, field: this.view.key, nulls: undefined }, false, sortColumns)
    return [...sortColumns.values()]
  }

  #addSortColumns(path: SortPath, descending: boolean, sortColumns: Map<string, SortColumn>): void {
    const { through, target, field, nulls = descending ? 'last' : 'first' } = path
    const relationPath = through.map(({ propertyPath }) => `${propertyPath}/`).join('')
    const { alias } = this.#follow(through, noConjunction)
    for (const column of field.columns) {
      const name = relationPath + column.column.propertyPath
      const isShown = !target.lifecycle.load && column.valueColumn.transformer === undefined
      // Sorting by the same column a second time has no effect.
      if (!sortColumns.has(name)) sortColumns.set(name, { name, alias, column, descending, nulls, isShown })
    }
  }

  /** Conjunction of the members of a group. */
  #conditionOf(nodes: readonly FilterNode[]): Condition {
    const conjunction: Conjunction = { conditions: [], ends: new Map() }
    for (const node of nodes) {
      if (typeof node === 'number') this.#addFilter(node, conjunction)
      else this.#addGroup(node, conjunction)
    }
    return combine('and', conjunction.conditions)
  }

  #addGroup({ type, members }: FilterGroup, parent: Conjunction): void {
    if (type === 'and') addTo(parent, this.#conditionOf(members))
    else if (type === 'not') addTo(parent, { type, condition: this.#conditionOf(members) })
    else {
      const alternatives = members.map((member) => this.#conditionOf([member]))
      addTo(parent, combine(type, alternatives))
    }
  }

  #addFilter(index: number, conjunction: Conjunction): Comparison | undefined {
    const filter = this.filters[index]
    if (filter === undefined || this.errors.isFull) return undefined
    const comparison = this.errors.try(filter.name, () => this.#compare(filter, conjunction))
    this.comparisons[index] = comparison
    return comparison
  }

  /** @throws {ValueError} */
  #compare({ name }: Filter, conjunction: Conjunction): Comparison {
    const path = parseFilterName(this.view, name, this.limits)
    const { through, field, operator } = path
    const { alias, subquery } = this.#follow(through, conjunction)
    const suggestion = suggestFilter(name, path)
    const comparison = {
      type: 'compare',
      on: { alias, field },
      operator,
      valuesIndex: this.#comparisonCount++,
      suggestion,
    } as const
    addTo(subquery ?? conjunction, comparison)
    return comparison
  }

  /** Joins the tables of a path, unless they are joined already. */
  #follow(through: readonly RelationMetadata[], conjunction: Conjunction): PathEnd {
    let end: PathEnd = { alias: rootAlias, subquery: undefined }
    let path = ''
    for (const relation of through) {
      path += `${relation.propertyPath}/`
      const ends = end.subquery === undefined && !isToMany(relation) ? this.#ends : conjunction.ends
      const next = ends.get(path) ?? this.#join(end, relation, conjunction)
      ends.set(path, next)
      end = next
    }
    return end
  }

  /**
   * Joins the table of a relation. A to-many relation becomes a subquery: a join would return a record once for each
   * related record, and joins of several such relations would multiply the number of rows.
   * @throws {ValueError} for more joins than `limits.joins`
   */
  #join({ alias: from, subquery }: PathEnd, relation: RelationMetadata, conjunction: Conjunction): PathEnd {
    // A subquery counts twice: as `key IN (…)` (SQLite, MySQL, MariaDB) it is evaluated for all rows of its tables,
    // even if the other conditions select few records.
    this.#joinCount += isToMany(relation) ? 2 : 1
    if (this.#joinCount > this.limits.joins) {
      throw new ValueError(
        `joins more tables than the ${this.limits.joins} allowed; a table of a to-many relation counts twice`,
      )
    }
    const join = { alias: tableAlias(++this.#aliasCount), from, relation }
    if (!isToMany(relation)) {
      const { joins } = subquery ?? { joins: this.#joins }
      joins.push(join)
      return { alias: join.alias, subquery }
    }
    const nested: DraftScope = { joins: [], conditions: [] }
    addTo(subquery ?? conjunction, {
      type: 'exists',
      first: join,
      joins: nested.joins,
      where: { type: 'and', conditions: nested.conditions },
    })
    return { alias: join.alias, subquery: nested }
  }
}

/** Suggests a filter on a text field of the related record instead of the foreign key: `country__name`. */
function suggestFilter(name: string, { target, field: { relation }, operator }: FilterPath): string | undefined {
  const related = relation && target.related(relation)
  const textField = related?.outputFields.find(({ valueType }) => valueType.operators.includes('like'))
  return textField && operator === 'eq' ? `${name.replace(/_id$/, '')}__${textField.name}` : undefined
}

/** Adds a condition; comparisons come first, because they are cheap and SQLite evaluates an AND from left to right. */
function addTo({ conditions }: Pick<Conjunction, 'conditions'>, condition: Condition): void {
  const firstOther = condition.type === 'compare' ? conditions.findIndex(({ type }) => type !== 'compare') : -1
  conditions.splice(firstOther < 0 ? conditions.length : firstOther, 0, condition)
}

/** Combines conditions; a single condition is returned as it is. */
function combine(type: Combination['type'], conditions: readonly Condition[]): Condition {
  const [only] = conditions
  return only !== undefined && conditions.length === 1 ? only : { type, conditions }
}
