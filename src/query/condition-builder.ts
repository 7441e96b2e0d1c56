import { type FieldErrors, ValueError } from '../errors'
import type { Filter, FilterGroup, FilterNode } from '../request/groups'
import type { Field } from '../schema/field'
import { isToMany } from '../schema/relations'
import type { FilterNames, ResourceView, SearchField, SearchIndex } from '../schema/resource-view'
import { type FilterPath, type JoinLimits, parseFilterName, parseSortName, type SortPath, type Step } from './path'
import {
  type Combination,
  type Comparison,
  type Condition,
  type FieldRef,
  type Join,
  type JoinedCondition,
  type Match,
  rootAlias,
  type SortColumn,
  tableAlias,
} from './query'

/** Subquery under construction. */
interface DraftSubquery {
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
  readonly subquery: DraftSubquery | undefined
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

/** Filter without its value: joins and comparisons depend only on the name. */
type FilterName = Pick<Filter, 'name'>

/** How records are searched: in which fields, and with which index. */
export interface Search {
  /** Fields of which at least one must contain each word. */
  readonly fields: readonly SearchField[]
  /** The index of these fields; undefined for a search by patterns. */
  readonly index: SearchIndex | undefined
}

const noSearch: Search = { fields: [], index: undefined }

/** How the list of a view is searched. */
export function searchOf({ searchFields, searchIndex }: ResourceView): Search {
  return { fields: searchFields(), index: searchIndex() }
}

/** Argument of `#follow` for orderings and searches. They follow only to-one relations, so nothing is added to it. */
const noConjunction: Conjunction = { conditions: [], ends: new Map() }

/** Resolves the names in filters and orderings, and collects the joins that they need. */
export class ConditionBuilder {
  /** Comparison of each filter, by its index in `filters`; undefined for a filter with an error. */
  readonly comparisons: (Comparison | undefined)[] = []
  /** Comparisons of each word of a search with each of its fields. */
  readonly wordComparisons: (readonly Comparison[])[] = []
  /** Condition of a search that uses an index. */
  match: Match | undefined
  /** Resources to which the names lead through relations, and whose access rules must permit reading them. */
  readonly guardedViews = new Set<FilterNames>()
  readonly #joins: Join[] = []
  /** Path ends in the outer SELECT (only to-one relations), by path. */
  readonly #ends = new Map<string, PathEnd>()
  #comparisonCount = 0
  #aliasCount = 0
  /** Number of joined tables; a table of a to-many relation counts twice. At most `limits.joins`. */
  #joinCount = 0

  /**
   * @param scopedAlias alias of the table to which the filters of a row scope apply; undefined for the filters of a
   * request. A row scope cannot add joins to the outer SELECT, so each of its paths starts with a subquery
   */
  constructor(
    readonly view: FilterNames,
    readonly filters: readonly FilterName[],
    readonly limits: JoinLimits,
    readonly errors: FieldErrors,
    readonly scopedAlias?: string,
  ) {}

  /**
   * Builds the joins and the AND of all nodes. Outside of groups, filters with the same name become one comparison with
   * several values (specification: Repeated parameters).
   * @param search how the records are searched
   * @param wordCount number of the words
   */
  build(nodes: readonly FilterNode[], search: Search = noSearch, wordCount = 0): JoinedCondition {
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
    this.errors.try('search', () => this.#addSearch(search, wordCount, root))
    return { joins: this.#joins, where: combine('and', root.conditions) }
  }

  /**
   * Resolves the names in `ordering` to sort columns and appends the key. The order is then total, so that pages
   * neither repeat nor skip records (specification: Ordering).
   */
  sortColumns(names: readonly string[], key: Field): readonly SortColumn[] {
    const sortColumns = new Map<string, SortColumn>()
    for (const text of names) {
      if (this.errors.isFull) break
      this.errors.try('ordering', () => {
        const descending = text.startsWith('-')
        const path = parseSortName(this.view, descending ? text.slice(1) : text, this.limits)
        this.#addSortColumns(path, descending, sortColumns)
      })
    }
    this.#addSortColumns({ through: [], target: this.view, field: key, nulls: undefined }, false, sortColumns)
    return [...sortColumns.values()]
  }

  #addSortColumns(path: SortPath, descending: boolean, sortColumns: Map<string, SortColumn>): void {
    const { through, target, field, nulls = descending ? 'last' : 'first' } = path
    const relationPath = through.map(({ relation }) => `${relation.propertyPath}/`).join('')
    const { alias } = this.#follow(through, noConjunction)
    for (const column of field.columns) {
      const name = relationPath + column.column.propertyPath
      const isShown = !target.lifecycle.load && column.valueColumn.transformer === undefined
      // Sorting by the same column a second time has no effect.
      if (!sortColumns.has(name)) sortColumns.set(name, { name, alias, column, descending, nulls, isShown })
    }
  }

  /** Joins the tables of a path of to-one relations. @throws {ValueError} */
  fieldRef({ through, field }: Pick<FilterPath, 'through' | 'field'>): FieldRef {
    return { alias: this.#follow(through, noConjunction).alias, field }
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

  /** @throws {ValueError} */
  #addSearch({ fields, index }: Search, wordCount: number, root: Conjunction): void {
    if (wordCount === 0) return
    if (index === undefined) {
      for (let word = 0; word < wordCount; word++) addTo(root, this.#containsWord(fields))
    } else {
      const { alias } = this.#follow([], noConjunction)
      this.match = { type: 'match', alias, index, valuesIndex: this.#comparisonCount++ }
      addTo(root, this.match)
    }
  }

  /** Condition that at least one field contains a word. @throws {ValueError} */
  #containsWord(fields: readonly SearchField[]): Condition {
    const comparisons = fields.map(({ through, field }): Comparison => {
      const { alias } = this.#follow(through, noConjunction)
      return { type: 'compare', on: { alias, field }, operator: 'ilike', valuesIndex: this.#comparisonCount++ }
    })
    this.wordComparisons.push(comparisons)
    return combine('or', comparisons)
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
  #compare({ name }: FilterName, conjunction: Conjunction): Comparison {
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
  #follow(through: readonly Step[], conjunction: Conjunction): PathEnd {
    let end: PathEnd = { alias: this.scopedAlias ?? rootAlias, subquery: undefined }
    let path = ''
    for (const step of through) {
      path += `${step.relation.propertyPath}/`
      const ends = this.#isJoined(end, step) && end.subquery === undefined ? this.#ends : conjunction.ends
      const next = ends.get(path) ?? this.#join(end, step, conjunction)
      ends.set(path, next)
      end = next
    }
    return end
  }

  /**
   * Joins the table of a relation, or selects from it in a subquery.
   * @throws {ValueError} for more joins than `limits.joins`
   */
  #join(end: PathEnd, step: Step, conjunction: Conjunction): PathEnd {
    const { alias: from, subquery } = end
    const { relation, target } = step
    // A subquery counts twice: as `key IN (…)` (SQLite, MySQL, MariaDB) it is evaluated for all rows of its tables,
    // even if the other conditions select few records.
    this.#joinCount += isToMany(relation) ? 2 : 1
    if (this.#joinCount > this.limits.joins) {
      throw new ValueError(
        `joins more tables than the ${this.limits.joins} allowed; a table of a to-many relation counts twice`,
      )
    }
    const alias = this.#newAlias()
    const visible = target.isGuarded ? ({ type: 'visible', alias, view: target, isFollowed: true } as const) : undefined
    if (target.isGuarded) this.guardedViews.add(target)
    const join = { alias, from, relation, visible }
    if (this.#isJoined(end, step)) {
      const { joins } = subquery ?? { joins: this.#joins }
      joins.push(join)
      return { alias: join.alias, subquery }
    }
    const nested: DraftSubquery = { joins: [], conditions: [] }
    addTo(subquery ?? conjunction, {
      type: 'exists',
      first: join,
      joins: nested.joins,
      where: { type: 'and', conditions: nested.conditions },
    })
    return { alias: join.alias, subquery: nested }
  }

  /**
   * Whether the table of a relation is joined. A to-many relation needs a subquery: a join would return a record once
   * for each related record, and joins of several such relations would multiply the number of rows.
   */
  #isJoined({ subquery }: PathEnd, { relation, isSingle = !isToMany(relation) }: Step): boolean {
    return isSingle && (subquery !== undefined || this.scopedAlias === undefined)
  }

  #newAlias(): string {
    const number = ++this.#aliasCount
    return this.scopedAlias === undefined ? tableAlias(number) : `${this.scopedAlias}_${number}`
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
