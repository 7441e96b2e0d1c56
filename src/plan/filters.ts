import { type FieldErrors, ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { Filter } from '../request/list-request'
import type { RelationMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import { isToMany } from '../schema/relations'
import { isPattern, parseOperand } from './operand'
import { parsePath } from './path'
import { type Condition, type Exists, type Join, rootAlias, type Scope } from './plan'

/**
 * What filters join and ask. Filters that follow the same relations ask the same related record: two through `languages`
 * hold when one language answers both.
 * @param errors receives every name and value that cannot be answered
 */
export function planFilters(
  resource: Resource,
  filters: readonly Filter[],
  limits: Limits,
  errors: FieldErrors,
): Scope & { readonly exists: readonly Exists[] } {
  const draft = new Draft(limits.joins)
  let patterns = 0
  for (const { name, value } of filters) {
    errors.try(name, () => {
      const { through, field, operator } = parsePath(resource, name, limits)
      if (isPattern(operator)) patterns += value.length
      if (patterns > limits.allPatterns) {
        throw new ValueError(`is one pattern too many: all together may have ${limits.allPatterns} characters`)
      }
      const values = parseOperand(field, operator, value, limits)
      const { alias, scope } = draft.follow(through)
      const condition = scope.conditions.get(name) ?? { on: { alias, field }, operator, values: [] }
      condition.values.push(...values)
      if (condition.values.length > limits.members) {
        throw new ValueError(`may have ${limits.members} members, this has ${condition.values.length}`)
      }
      scope.conditions.set(name, condition)
    })
  }
  return { ...finish(draft.root), exists: draft.exists.map((exists) => ({ ...finish(exists), first: exists.first })) }
}

/** A scope that is being filled; conditions by the name of their filter. */
interface DraftScope {
  readonly joins: Join[]
  readonly conditions: Map<string, Condition & { readonly values: unknown[] }>
}

interface End {
  readonly alias: string
  readonly scope: DraftScope
}

function finish({ joins, conditions }: DraftScope): Scope {
  return { joins, conditions: [...conditions.values()] }
}

class Draft {
  constructor(readonly maximumJoins: number) {}

  readonly root: DraftScope = { joins: [], conditions: new Map() }
  readonly exists: (DraftScope & { readonly first: Join })[] = []
  /** What is joined already, by the relations that lead there. */
  readonly #ends = new Map<string, End>()

  /** Joins what a path goes through, each relation once. */
  follow(through: readonly RelationMetadata[]): End {
    let end: End = { alias: rootAlias, scope: this.root }
    let path = ''
    for (const relation of through) {
      path += `${relation.propertyPath}/`
      const next = this.#ends.get(path) ?? this.#join(end, relation)
      this.#ends.set(path, next)
      end = next
    }
    if (this.#ends.size > this.maximumJoins)
      throw new ValueError(`joins one table too many; ${this.maximumJoins} are allowed`)
    return end
  }

  /** The first to-many relation of a path begins a subquery, so that no row comes twice; what follows is joined inside it. */
  #join({ alias, scope }: End, relation: RelationMetadata): End {
    const join = { alias: `t${this.#ends.size + 1}`, from: alias, relation }
    if (scope !== this.root || !isToMany(relation)) {
      scope.joins.push(join)
      return { alias: join.alias, scope }
    }
    const exists = { first: join, joins: [], conditions: new Map() }
    this.exists.push(exists)
    return { alias: join.alias, scope: exists }
  }
}
