import { type FieldErrors, ValueError } from '../errors'
import { type GroupName, groupNames } from '../schema/list-parameters'

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

/** Recursive-descent parser. Each method starts at the current position and leaves it after the text it has parsed. */
class GroupParser {
  #position = 0

  /** @param offset length of the part before the value (`or=`), which positions in errors include */
  constructor(
    readonly text: string,
    readonly offset: number,
    readonly filters: Filter[],
  ) {}

  parse(type: GroupName): FilterGroup {
    if (this.#next !== '(') throw this.#expected('"("')
    const group = this.#parseGroup(type, 1)
    if (this.#position < this.text.length) throw this.#expected('the end of the group')
    return group
  }

  get #next(): string {
    return this.text.charAt(this.#position)
  }

  #parseGroup(type: GroupName, depth: number): FilterGroup {
    if (depth > maxDepth) throw this.#error(`nests groups more than ${maxDepth} deep`, this.#position)
    const open = this.#position++
    const members: FilterNode[] = []
    do members.push(this.#parseMember(depth))
    while (this.#take(','))
    if (!this.#take(')')) throw this.#next === '' ? this.#unclosed('(', open) : this.#expected('"," or ")"')
    return { type, members }
  }

  #parseMember(depth: number): FilterNode {
    const name = this.#parseWhile(/[^:(),"]*/y)
    if (isGroupName(name) && this.#next === '(') return this.#parseGroup(name, depth + 1)
    if (name === '') throw this.#expected('a filter such as name:value')
    if (!this.#take(':')) throw this.#expected(`":" after ${name}`)
    return this.filters.push({ name, ...this.#parseValue() }) - 1
  }

  #parseValue(): Pick<Filter, 'value' | 'isList'> {
    if (this.#next === '(') return { value: this.#parseList(), isList: true }
    if (this.#next === '"') return { value: this.#parseQuoted().replaceAll('""', '"') }
    return { value: this.#parseWhile(/[^(),"]*/y) }
  }

  /** @returns the members in the syntax of an `in` filter: separated by commas, with the quotes that they had */
  #parseList(): string {
    const open = this.#position++
    const members: string[] = []
    do members.push(this.#next === '"' ? `"${this.#parseQuoted()}"` : this.#parseWhile(/[^(),"]*/y))
    while (this.#take(','))
    if (!this.#take(')')) throw this.#next === '' ? this.#unclosed('(', open) : this.#expected('"," or ")"')
    return members.join()
  }

  /** @returns the text between the quotes, in which a quote is written as `""` */
  #parseQuoted(): string {
    const open = this.#position++
    const content = this.#parseWhile(/(?:[^"]|"")*/y)
    if (!this.#take('"')) throw this.#unclosed('"', open)
    return content
  }

  #parseWhile(pattern: RegExp): string {
    pattern.lastIndex = this.#position
    const [match = ''] = pattern.exec(this.text) ?? []
    this.#position += match.length
    return match
  }

  /** Skips a character if it is the next one. @returns whether it was */
  #take(character: string): boolean {
    const isNext = this.#next === character
    if (isNext) this.#position++
    return isNext
  }

  #expected(expectation: string): ValueError {
    const found = this.#next === '' ? 'the end' : JSON.stringify(this.#next)
    return this.#error(`has ${found} where ${expectation} is expected`, this.#position)
  }

  #unclosed(character: string, position: number): ValueError {
    return this.#error(`has an unclosed ${character === '"' ? 'quote' : `"${character}"`}`, position)
  }

  #error(problem: string, position: number): ValueError {
    return new ValueError(`${problem} at character ${this.offset + position + 1}`)
  }
}
