import { ValueError } from '../errors'

/** Value of a filter in parentheses. */
interface ParsedValue {
  readonly value: string
  /** Whether the value was a list in parentheses: `id__in:(1,2)`. */
  readonly isList?: boolean
}

/**
 * Recursive-descent parser for the parameters whose values have parentheses: groups of filters, and includes. Each method
 * starts at the current position and leaves it after the text that it has parsed.
 */
export class ParameterParser {
  #position = 0

  /** @param offset length of the part before the value (`or=`), which positions in errors include */
  constructor(
    readonly text: string,
    readonly offset: number,
  ) {}

  protected get position(): number {
    return this.#position
  }

  protected get next(): string {
    return this.text.charAt(this.#position)
  }

  protected requireEnd(expectation: string): void {
    if (this.#position < this.text.length) throw this.expected(expectation)
  }

  /** Parses members in parentheses, separated by commas. */
  protected parseMembers<Member>(parseMember: () => Member): readonly Member[] {
    const open = this.#position++
    const members: Member[] = []
    do members.push(parseMember())
    while (this.take(','))
    if (!this.take(')')) throw this.next === '' ? this.#unclosed('(', open) : this.expected('"," or ")"')
    return members
  }

  /** @param expectation what is expected here, if there is no name */
  protected parseName(expectation: string): string {
    const name = this.#parseWhile(/[^:(),"]*/y)
    if (name === '') throw this.expected(expectation)
    return name
  }

  protected takeColon(name: string): void {
    if (!this.take(':')) throw this.expected(`":" after ${name}`)
  }

  protected parseValue(): ParsedValue {
    if (this.next === '(') return { value: this.#parseList(), isList: true }
    if (this.next === '"') return { value: this.#parseQuoted().replaceAll('""', '"') }
    return { value: this.#parseWhile(/[^(),"]*/y) }
  }

  /** @returns the members in the syntax of an `in` filter: separated by commas, with the quotes that they had */
  #parseList(): string {
    return this.parseMembers(() =>
      this.next === '"' ? `"${this.#parseQuoted()}"` : this.#parseWhile(/[^(),"]*/y),
    ).join()
  }

  /** @returns the text between the quotes, in which a quote is written as `""` */
  #parseQuoted(): string {
    const open = this.#position++
    const content = this.#parseWhile(/(?:[^"]|"")*/y)
    if (!this.take('"')) throw this.#unclosed('"', open)
    return content
  }

  #parseWhile(pattern: RegExp): string {
    pattern.lastIndex = this.#position
    const [match = ''] = pattern.exec(this.text) ?? []
    this.#position += match.length
    return match
  }

  /** Skips a character if it is the next one. @returns whether it was */
  protected take(character: string): boolean {
    const isNext = this.next === character
    if (isNext) this.#position++
    return isNext
  }

  protected expected(expectation: string): ValueError {
    const found = this.next === '' ? 'the end' : JSON.stringify(this.next)
    return this.error(`has ${found} where ${expectation} is expected`)
  }

  #unclosed(character: string, position: number): ValueError {
    return this.error(`has an unclosed ${character === '"' ? 'quote' : `"${character}"`}`, position)
  }

  protected error(problem: string, position = this.#position): ValueError {
    return new ValueError(`${problem} at character ${this.offset + position + 1}`)
  }
}
