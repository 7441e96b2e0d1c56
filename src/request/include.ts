import { LRUCache } from 'lru-cache'
import type { FieldErrors } from '../errors'
import { reservedNames } from '../schema/list-parameters'
import { copyOf } from './copy'
import { type Filter, type FilterNode, GroupParser, groupKey } from './groups'
import type { Limits } from './limits'

/**
 * Related records that a request includes, with the parameters in parentheses: `comments(limit:5,include:(author))`.
 * Names are not resolved yet.
 */
export interface IncludeRequest {
  /** Name of the relation, with `__` in that of an embedded entity. */
  readonly name: string
  readonly filters: readonly Filter[]
  /** How the filters are combined: all nodes must hold. */
  readonly where: readonly FilterNode[]
  /** Names in `ordering`, with a leading `-` for descending. */
  readonly ordering: readonly string[]
  /** Different words of `search`. */
  readonly search: readonly string[]
  /** Names in `fields`; undefined if the records have all fields. */
  readonly fields: readonly string[] | undefined
  /** Text of `limit` and of `count`, as sent. */
  readonly limit: string | undefined
  readonly count: string | undefined
  readonly includes: readonly IncludeRequest[]
  /** Names of the parameters that only lists of records have, in the order of the text. */
  readonly listParameters: readonly string[]
  /** Names of the request without its values: requests with the same key have the same query shapes. */
  readonly cacheKey: string
  /** The parameters, as a query string of the list of the related records. */
  readonly repeated: string
}

/** The limits that parsing depends on. */
type IncludeLimits = Pick<Limits, 'includes' | 'patternCost'>

/** Parameters of an include that are not filters. */
const parameterNames = ['ordering', 'search', 'fields', 'limit', 'count', 'include'] as const
type ParameterName = (typeof parameterNames)[number]

/** Maximum depth of includes in includes; those of the request itself have depth 1. */
const maxDepth = 4

/** Maximum number of texts in the cache, and their maximum length in characters. */
const maxCached = 256
const maxCachedLength = 512

/** Parsed includes by their limits and text: a client sends the same text with many requests. */
const cache = new LRUCache<string, readonly IncludeRequest[]>({ max: maxCached })

/**
 * Parses the value of `include`: `assignee,comments(limit:5,author__name:ann)`.
 * @param errors receives the syntax error with its position: characters from the start of the parameter's name
 */
export function parseIncludes(text: string, limits: IncludeLimits, errors: FieldErrors): readonly IncludeRequest[] {
  if (text.length > maxCachedLength) return parseText(text, limits, errors) ?? []
  const key = copyOf(`${limits.includes} ${limits.patternCost} ${text}`)
  const cached = cache.get(key)
  if (cached !== undefined) return cached
  // The text in the key is parsed: parts of the other one would keep the whole URL in memory.
  const includes = parseText(key.slice(key.length - text.length), limits, errors)
  if (includes !== undefined) cache.set(key, includes)
  return includes ?? []
}

/** @returns undefined for a text with an error */
function parseText(text: string, limits: IncludeLimits, errors: FieldErrors): readonly IncludeRequest[] | undefined {
  return errors.try('include', () => new IncludeParser(text, limits).parseAll())
}

/** Text of a key that identifies the names in includes. */
export function includesKey(includes: readonly IncludeRequest[]): string {
  return includes.map(({ name, cacheKey }) => `${name}(${cacheKey})`).join()
}

/** Recursive-descent parser of includes, whose parentheses may contain filters and groups. */
class IncludeParser extends GroupParser {
  #count = 0

  constructor(
    text: string,
    readonly limits: IncludeLimits,
  ) {
    super(text, 'include='.length, [])
  }

  parseAll(): readonly IncludeRequest[] {
    const includes: IncludeRequest[] = []
    do includes.push(this.#parseInclude(1, includes))
    while (this.take(','))
    this.requireEnd('","')
    return includes
  }

  /** @param others the includes before this one */
  #parseInclude(depth: number, others: readonly IncludeRequest[]): IncludeRequest {
    const start = this.position
    const name = this.parseName('the name of a relation')
    if (depth > maxDepth) throw this.error(`nests includes more than ${maxDepth} deep`, start)
    if (++this.#count > this.limits.includes)
      throw this.error(`names more than ${this.limits.includes} relations`, start)
    if (others.some((other) => other.name === name)) throw this.error(`names ${name} twice`, start)
    const draft = new DraftInclude(name)
    if (this.next === '(') {
      // The filters of each include are counted from 0.
      const outer = this.filters.splice(0)
      this.parseMembers(() => this.#parseParameter(draft, depth))
      draft.filters.push(...this.filters.splice(0))
      this.filters.push(...outer)
    }
    const request = draft.toRequest()
    const { patternCost } = this.limits
    if (request.search.length > patternCost) throw this.error(`searches for more than ${patternCost} words`, start)
    return request
  }

  #parseParameter(draft: DraftInclude, depth: number): void {
    const start = this.position
    const name = this.parseName('a parameter such as limit:5')
    if (!isParameter(name)) {
      const node = this.parseNode(name, 1)
      draft.add(name, node, this.text.slice(start + name.length, this.position), this.filters)
      return
    }
    this.takeColon(name)
    if (draft.texts.has(name)) throw this.error(`gives ${name} twice`, start)
    if (name !== 'include') {
      draft.texts.set(name, this.parseValue().value)
      return
    }
    const valueStart = this.position
    draft.includes.push(...this.#parseNested(depth + 1))
    // In a query string, the includes have no parentheses around them.
    draft.texts.set(name, this.text.slice(valueStart, this.position).replace(/^\((.*)\)$/s, '$1'))
  }

  #parseNested(depth: number): readonly IncludeRequest[] {
    const includes: IncludeRequest[] = []
    const parseNext = (): unknown => includes.push(this.#parseInclude(depth, includes))
    if (this.next === '(') this.parseMembers(parseNext)
    else parseNext()
    return includes
  }
}

function isParameter(name: string): name is ParameterName {
  return (parameterNames as readonly string[]).includes(name)
}

/** Include whose parameters are being parsed. */
class DraftInclude {
  readonly filters: Filter[] = []
  readonly includes: IncludeRequest[] = []
  /** Texts of the parameters that are not filters. */
  readonly texts = new Map<ParameterName, string>()
  readonly #where: FilterNode[] = []
  /** Names of filters and groups. */
  readonly #filterNames: string[] = []
  readonly #keys: string[] = []
  readonly #repeated: string[] = []

  constructor(readonly name: string) {}

  /**
   * Adds a filter or a group.
   * @param text its value, as sent; that of a filter has a leading colon
   */
  add(name: string, node: FilterNode, text: string, filters: readonly Filter[]): void {
    this.#where.push(node)
    this.#filterNames.push(name)
    this.#keys.push(typeof node === 'number' ? name : groupKey(node, filters))
    // In a query string, a field with the name of a parameter needs an operator.
    const repeatedName = typeof node === 'number' && reservedNames.has(name) ? `${name}__eq` : name
    this.#repeated.push(pairOf(repeatedName, typeof node === 'number' ? (filters[node]?.value ?? '') : text))
  }

  toRequest(): IncludeRequest {
    const { name, filters, includes, texts } = this
    const listOf = (parameter: ParameterName): readonly string[] | undefined => texts.get(parameter)?.split(',')
    const search = [...new Set(texts.get('search')?.split(/\s+/u))].filter((word) => word !== '')
    const ordering = listOf('ordering') ?? []
    const fields = listOf('fields')
    const listParameters = [
      ...[...texts.keys()].filter((parameter) => parameter !== 'fields' && parameter !== 'include'),
      ...this.#filterNames,
    ]
    const repeated = parameterNames.filter((parameter) => parameter !== 'limit' && parameter !== 'count')
    return {
      name,
      filters,
      where: this.#where,
      ordering,
      search,
      fields,
      limit: texts.get('limit'),
      count: texts.get('count'),
      includes,
      listParameters,
      // Encoded, because the characters between the parts of the key also occur in names.
      cacheKey: [
        ...this.#keys.map(encodeURIComponent),
        // Whether they are allowed is checked only for a new shape.
        `parameters=${encodeURIComponent(listParameters.join())}`,
        `ordering=${encodeURIComponent(ordering.join())}`,
        `search=${search.length}`,
        // Not the same for `fields:` without names, which is refused, as without `fields`.
        `fields=${fields === undefined ? '' : `:${encodeURIComponent(fields.join())}`}`,
        `include=${includesKey(includes)}`,
      ].join('&'),
      repeated: [
        ...this.#repeated,
        ...repeated.flatMap((parameter) => {
          const text = texts.get(parameter)
          return text === undefined ? [] : [pairOf(parameter, text)]
        }),
      ].join('&'),
    }
  }
}

const pairOf = (name: string, value: string): string => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
