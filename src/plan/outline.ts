import { LRUCache } from 'lru-cache'
import { type FieldErrors, ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { ListRequest } from '../request/list-request'
import type { Field } from '../schema/field'
import { memoize } from '../schema/memoize'
import type { RelationMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import { isToMany } from '../schema/relations'
import type { StoredColumn } from '../schema/stored-column'
import { parsePath } from './path'
import { type Comparison, type Join, type Order, type Question, rootAlias } from './plan'
import { requireField } from './require-field'

/** What the names of a list request ask, whatever the values are: looked up once for all requests of the same names. */
export interface Outline {
  /** Says all of it: no other outline of the resource has the same. */
  readonly names: string
  readonly question: Question
  readonly ordering: readonly Order[]
  /** What each filter of the request compares, the same for those of one name; undefined for one that cannot be answered. */
  readonly filters: readonly (Comparison | undefined)[]
}

/** Outlines that are remembered for one resource. */
const most = 256

const outlines = memoize((_: Resource) => new LRUCache<string, Outline>({ max: most }))

/** From memory, or looked up. @param errors receives every name that cannot be answered; then it is not remembered */
export function outlineOf(
  resource: Resource,
  { filters, ordering, names }: ListRequest,
  limits: Limits,
  errors: FieldErrors,
): Outline {
  const remembered = outlines(resource).get(names)
  if (remembered !== undefined) return remembered
  const draft = new Draft(limits.joins)
  const outline: Outline = {
    names,
    ordering: planOrdering(resource, ordering, errors),
    filters: filters.map(({ name }) => errors.try(name, () => draft.compare(resource, name, limits))),
    question: { ...draft.root, exists: draft.exists },
  }
  if (errors.isEmpty) outlines(resource).set(names, outline)
  return outline
}

/** A scope that is being filled. */
interface DraftScope {
  readonly joins: Join[]
  readonly comparisons: Comparison[]
}

interface End {
  readonly alias: string
  readonly scope: DraftScope
}

/**
 * Filters that follow the same relations ask the same related record: two through `languages` hold when one language answers both.
 */
class Draft {
  constructor(readonly maximumJoins: number) {}

  readonly root: DraftScope = { joins: [], comparisons: [] }
  readonly exists: (DraftScope & { readonly first: Join })[] = []
  /** By name. */
  readonly #comparisons = new Map<string, Comparison>()
  /** What is joined already, by the relations that lead there. */
  readonly #ends = new Map<string, End>()

  /** What a filter's name compares. @throws {ValueError} */
  compare(resource: Resource, name: string, limits: Limits): Comparison {
    const known = this.#comparisons.get(name)
    if (known !== undefined) return known
    const { through, field, operator } = parsePath(resource, name, limits)
    const { alias, scope } = this.#follow(through)
    const comparison = { on: { alias, field }, operator, slot: this.#comparisons.size }
    scope.comparisons.push(comparison)
    this.#comparisons.set(name, comparison)
    return comparison
  }

  /** Joins what a path goes through, each relation once. */
  #follow(through: readonly RelationMetadata[]): End {
    let end: End = { alias: rootAlias, scope: this.root }
    let path = ''
    for (const relation of through) {
      path += `${relation.propertyPath}/`
      const next = this.#ends.get(path) ?? this.#join(end, relation)
      this.#ends.set(path, next)
      end = next
    }
    return end
  }

  /** The first to-many relation of a path begins a subquery, so that no row comes twice; what follows is joined inside it. */
  #join({ alias, scope }: End, relation: RelationMetadata): End {
    if (this.#ends.size >= this.maximumJoins) {
      throw new ValueError(`joins one table too many; ${this.maximumJoins} are allowed`)
    }
    const join = { alias: `t${this.#ends.size + 1}`, from: alias, relation }
    if (scope !== this.root || !isToMany(relation)) {
      scope.joins.push(join)
      return { alias: join.alias, scope }
    }
    const exists = { first: join, joins: [], comparisons: [] }
    this.exists.push(exists)
    return { alias: join.alias, scope: exists }
  }
}

/** The key comes last, so that the order is total and pages neither repeat nor skip (D20). */
function planOrdering(resource: Resource, ordering: readonly string[], errors: FieldErrors): readonly Order[] {
  const orders = new Map<StoredColumn, Order>()
  const add = ({ columns }: Field, descending: boolean): void => {
    for (const column of columns) if (!orders.has(column)) orders.set(column, { column, descending })
  }
  for (const text of ordering) {
    if (errors.isFull) break
    errors.try('ordering', () => {
      const descending = text.startsWith('-')
      const name = descending ? text.slice(1) : text
      const field = requireField(resource, resource.fields, name, `names "${name}", which `)
      // What cannot be compared has no order either.
      if (!field.kind.operators.includes('eq')) throw new ValueError(`cannot sort by ${name}`)
      add(field, descending)
    })
  }
  add(resource.key, false)
  return [...orders.values()]
}
