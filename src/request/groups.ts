import type { FieldErrors } from '../errors'
import { type GroupName, groupNames } from '../schema/list-parameters'
import { ParameterParser } from './parameter-parser'

/** One comparison of a request: `status=open`, or `status:open` in a group. */
export interface Filter {
  /** Path of fields, with or without an operator: `author__username__like`. */
  readonly name: string
  readonly value: string
  /** Whether the value was a list in parentheses, which exists only in groups: `id__in:(1,2)`. */
  readonly isList?: boolean
}

/** Node in the tree of conditions of a request: the index of a filter, or a group of further nodes. */
export type FilterNode = number | FilterGroup

/** Filters that are combined by a parameter `or`, `and` or `not`. */
export interface FilterGroup {
  /** `not` negates the conjunction of its members. */
  readonly type: GroupName
  readonly members: readonly FilterNode[]
}

/** Maximum nesting depth of groups; the parameter itself is at depth 1. */
const maxDepth = 4

export function isGroupName(name: string): name is GroupName {
  return (groupNames as readonly string[]).includes(name)
}

/**
 * Parses the value of a parameter `or`, `and` or `not`: `(status:open,not(assignee__is:null),id__in:(1,2))`.
 * @param filters receives the filters of the group, in the order of the text
 * @param errors receives the syntax error with its position: characters from the start of the parameter's name
 * @returns undefined if there is a syntax error
 */
export function parseGroup(
  type: GroupName,
  text: string,
  filters: Filter[],
  errors: FieldErrors,
): FilterGroup | undefined {
  return errors.try(type, () => new GroupParser(text, type.length + 1, filters).parse(type))
}

/** Structure of a group without the values of its filters: `or(status,not(assignee__is))`. */
export function groupKey({ type, members }: FilterGroup, filters: readonly Pick<Filter, 'name'>[]): string {
  const keys = members.map((member) =>
    typeof member === 'number' ? (filters[member]?.name ?? '') : groupKey(member, filters),
  )
  return `${type}(${keys.join(',')})`
}

/** Parser of filters and groups. */
export class GroupParser extends ParameterParser {
  /** @param filters receives the filters, in the order of the text */
  constructor(
    text: string,
    offset: number,
    readonly filters: Filter[],
  ) {
    super(text, offset)
  }

  parse(type: GroupName): FilterGroup {
    if (this.next !== '(') throw this.expected('"("')
    const group = this.#parseGroup(type, 1)
    this.requireEnd('the end of the group')
    return group
  }

  /** @param name name of a filter or of a group, after which the position is */
  protected parseNode(name: string, depth: number): FilterNode {
    if (isGroupName(name) && this.next === '(') return this.#parseGroup(name, depth)
    this.takeColon(name)
    return this.filters.push({ name, ...this.parseValue() }) - 1
  }

  #parseGroup(type: GroupName, depth: number): FilterGroup {
    if (depth > maxDepth) throw this.error(`nests groups more than ${maxDepth} deep`)
    const members = this.parseMembers(() => this.parseNode(this.parseName('a filter such as name:value'), depth + 1))
    return { type, members }
  }
}
