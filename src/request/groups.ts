import { type FieldErrors, ValueError } from '../errors'
import { type GroupName, groupNames } from '../schema/list-parameters'

export interface Filter {
  readonly name: string
  readonly value: string
  /** Whether the value was a list in parentheses, as only groups have them: `id__in:(1,2)`. */
  readonly isList?: boolean
}

/** Filters of a request and how they are combined: a filter by its index, or a group of further nodes. */
export type FilterNode = number | FilterGroup

export interface FilterGroup {
  /** `not` negates the conjunction of its members. */
  readonly type: GroupName
  readonly members: readonly FilterNode[]
}

/** Greatest number of groups within each other, the parameter itself included. */
const maxDepth = 4

export function isGroupName(name: string): name is GroupName {
  return (groupNames as readonly string[]).includes(name)
}

/**
 * Parses the value of a parameter `or`, `and` or `not`: `(status:open,not(assignee__is:null),id__in:(1,2))`.
 * @param filters receives the filters of the group, in the order in which they are written
 * @param errors receives the mistake and its position, counted in characters from the beginning of the parameter's name
 * @returns undefined for a mistake
 */
export function parseGroup(
  type: GroupName,
  text: string,
  filters: Filter[],
  errors: FieldErrors,
): FilterGroup | undefined {
  return errors.try(type, () => new GroupParser(text, type.length + 1, filters).parse(type))
}

/** The structure of a group without the values of its filters: `or(status,not(assignee__is))`. */
export function groupKey({ type, members }: FilterGroup, filters: readonly Filter[]): string {
  const keys = members.map((member) =>
    typeof member === 'number' ? (filters[member]?.name ?? '') : groupKey(member, filters),
  )
  return `${type}(${keys.join(',')})`
}

/** Recursive descent; each method begins at the current position and ends behind what it has parsed. */
class GroupParser {
  #at = 0

  /** @param offset characters of the parameter before its value, which positions in errors include */
  constructor(
    readonly text: string,
    readonly offset: number,
    readonly filters: Filter[],
  ) {}

  parse(type: GroupName): FilterGroup {
    if (this.#next !== '(') throw this.#expected('"("')
    const group = this.#parseGroup(type, 1)
    if (this.#at < this.text.length) throw this.#expected('the end of the group')
    return group
  }

  get #next(): string {
    return this.text.charAt(this.#at)
  }

  #parseGroup(type: GroupName, depth: number): FilterGroup {
    if (depth > maxDepth) throw this.#error(`nests groups more than ${maxDepth} deep`, this.#at)
    const open = this.#at++
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

  /** @returns the members as the value of an `in` filter has them: separated by commas, in quotes where they were */
  #parseList(): string {
    const open = this.#at++
    const members: string[] = []
    do members.push(this.#next === '"' ? `"${this.#parseQuoted()}"` : this.#parseWhile(/[^(),"]*/y))
    while (this.#take(','))
    if (!this.#take(')')) throw this.#next === '' ? this.#unclosed('(', open) : this.#expected('"," or ")"')
    return members.join()
  }

  /** @returns what is between the quotes, in which `""` stands for a quote */
  #parseQuoted(): string {
    const open = this.#at++
    const content = this.#parseWhile(/(?:[^"]|"")*/y)
    if (!this.#take('"')) throw this.#unclosed('"', open)
    return content
  }

  #parseWhile(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [found = ''] = pattern.exec(this.text) ?? []
    this.#at += found.length
    return found
  }

  #take(character: string): boolean {
    const isIt = this.#next === character
    if (isIt) this.#at++
    return isIt
  }

  #expected(what: string): ValueError {
    const found = this.#next === '' ? 'the end' : JSON.stringify(this.#next)
    return this.#error(`has ${found} where ${what} is expected`, this.#at)
  }

  #unclosed(character: string, at: number): ValueError {
    return this.#error(`has an unclosed ${character === '"' ? 'quote' : `"${character}"`}`, at)
  }

  #error(problem: string, at: number): ValueError {
    return new ValueError(`${problem} at character ${this.offset + at + 1}`)
  }
}
