import {
  comparesOne,
  groupParameterOf,
  type ListQuery,
  matches,
  order,
  parameterOf,
  rotate,
  searchParameterOf,
  valueAt,
} from './model'
import type { Row, Rows, Value } from './rows'
import type { ValueType } from './schema'

/** Computes the groups of a list with `aggregate` from all rows, without any code of `src`. */

/** Function of the records of a group: `count` without a path, or a function of a field. */
export interface Aggregate {
  readonly path: readonly string[]
  readonly function: 'count' | 'sum' | 'avg' | 'min' | 'max' | 'count_distinct'
}

/** Field that identifies a group, maybe with a date part. */
export interface GroupKey {
  readonly path: readonly string[]
  readonly part: 'year' | 'quarter' | 'month' | 'week' | 'day' | undefined
}

/** Filter on groups. */
export interface Having {
  readonly aggregate: Aggregate
  readonly operator: string
  readonly value: Value
}

/** A request for groups of records. */
export interface GroupCase extends Omit<ListQuery, 'ordering'> {
  readonly aggregates: readonly Aggregate[]
  readonly by: readonly GroupKey[]
  readonly having: readonly Having[]
  readonly ordering: readonly { readonly member: Aggregate | GroupKey; readonly descending: boolean }[]
  readonly limit: number | undefined
  readonly page: number
  /** Number of positions by which the parameters of the query string are rotated. */
  readonly turn: number
}

export const isKey = (member: Aggregate | GroupKey): member is GroupKey => 'part' in member

export const memberName = (member: Aggregate | GroupKey): string =>
  [...member.path, ...(isKey(member) ? [member.part ?? []].flat() : [member.function])].join('__')

/** A value of a group. */
interface Computed {
  readonly json: Value
  /** The value that is compared. */
  readonly exact: Value
  readonly type: ValueType
  /** Whether `exact` is an integer that stands for a decimal: see {@link scaled}. */
  readonly isScaled: boolean
}
const nothing: Computed = { json: null, exact: null, type: 'text', isScaled: false }

/** Number of digits after the point of exact sums, as in operands of filters. */
const scale = 20

/** A decimal as an integer: multiplied by 10 to the power of {@link scale}. */
function scaled(value: Value): bigint {
  const [whole = '', fraction = ''] = String(value).split('.')
  return BigInt(`${whole}${fraction.padEnd(scale, '0')}`)
}

const jsonOfInteger = (value: bigint): Value => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value))

/** A sum with two digits after the point. */
function jsonOfCents(sum: bigint): string {
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0')
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale).slice(0, 2)}`
}

function compute(rows: Rows, { resource }: GroupCase, aggregate: Aggregate, group: readonly Row[]): Computed {
  const { path, function: name } = aggregate
  if (name === 'count') return countOf(group.length)
  const found = group.map((row) => valueAt(rows, resource, path, row))
  const [{ type } = { type: 'text' as const }] = found
  const values = found.flatMap(({ value }) => (value === null ? [] : [value]))
  if (name === 'count_distinct') return countOf(new Set(values).size)
  if (values.length === 0) return nothing
  if (name === 'min' || name === 'max') {
    const exact = values.toSorted((one, other) => order(type, one, other)).at(name === 'min' ? 0 : -1) ?? null
    return { json: shown(type, exact), exact, type, isScaled: false }
  }
  const isFloat = path.at(-1) === 'ratio'
  const sum = isFloat ? 0n : values.reduce((total, value) => total + scaled(value), 0n)
  const float = isFloat ? values.reduce<number>((total, value) => total + Number(value), 0) : Number(jsonOfCents(sum))
  if (isFloat || name === 'avg') {
    const json = name === 'avg' ? float / values.length : float
    return { json, exact: json, type: 'decimal', isScaled: false }
  }
  const json = type === 'decimal' ? jsonOfCents(sum) : jsonOfInteger(sum / 10n ** BigInt(scale))
  return { json, exact: String(sum), type: 'integer', isScaled: true }
}

const countOf = (count: number): Computed => ({
  json: count,
  exact: String(scaled(count)),
  type: 'integer',
  isScaled: true,
})

/** A value as a record shows it. */
const shown = (type: ValueType, value: Value): Value =>
  type === 'instant' && value !== null ? String(value).slice(0, 19) : value

/** The first day of the period of a date. Weeks begin on Monday. */
function firstDay(date: string, part: NonNullable<GroupKey['part']>): string {
  const day = new Date(`${date.slice(0, 10)}T00:00:00Z`)
  if (part === 'week') day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7))
  else if (part !== 'day') day.setUTCDate(1)
  if (part === 'year') day.setUTCMonth(0)
  if (part === 'quarter') day.setUTCMonth(day.getUTCMonth() - (day.getUTCMonth() % 3))
  return day.toISOString().slice(0, 10)
}

function keyOf(rows: Rows, { resource }: GroupCase, { path, part }: GroupKey, row: Row): Computed {
  const { value, type } = valueAt(rows, resource, path, row)
  if (value === null) return nothing
  if (part === undefined) return { json: value, exact: value, type, isScaled: false }
  const json = firstDay(String(value), part)
  return { json, exact: json, type: 'text', isScaled: false }
}

/** Compares two values of the same member. Nulls are less than all values. */
function compare(one: Computed, other: Computed): number {
  if (one.exact === null || other.exact === null) return Number(one.exact !== null) - Number(other.exact !== null)
  return order(one.type, one.exact, other.exact)
}

function holds({ operator, value }: Having, { exact, type, isScaled }: Computed): boolean {
  return exact !== null && comparesOne(type, operator, exact, isScaled ? String(scaled(value)) : value)
}

type Group = ReadonlyMap<string, Computed>

/** All groups of a request, as JSON, in their order. */
export function groupsOf(rows: Rows, request: GroupCase): readonly Readonly<Record<string, Value>>[] {
  const { aggregates, by, having, ordering } = request
  const members = new Map<string, { readonly keys: readonly Computed[]; readonly rows: Row[] }>()
  if (by.length === 0) members.set('[]', { keys: [], rows: [] })
  for (const row of matches(rows, { ...request, ordering: [] })) {
    const keys = by.map((key) => keyOf(rows, request, key, row))
    const name = JSON.stringify(keys.map(({ json }) => json))
    const group = members.get(name) ?? { keys, rows: [] }
    group.rows.push(row)
    members.set(name, group)
  }
  const groups = [...members.values()].map(
    (group): Group =>
      new Map([
        ...by.map((key, index) => [memberName(key), group.keys[index] ?? nothing] as const),
        ...aggregates.map((one) => [memberName(one), compute(rows, request, one, group.rows)] as const),
      ]),
  )
  const orders = [...ordering, ...by.map((member) => ({ member, descending: false }))]
  const memberOf = (group: Group, member: Aggregate | GroupKey): Computed => group.get(memberName(member)) ?? nothing
  return groups
    .filter((group) => having.every((filter) => holds(filter, memberOf(group, filter.aggregate))))
    .toSorted((one, other) => {
      for (const { member, descending } of orders) {
        const difference = compare(memberOf(one, member), memberOf(other, member))
        if (difference !== 0) return descending ? -difference : difference
      }
      return 0
    })
    .map((group) => Object.fromEntries([...group].map(([name, { json }]) => [name, json])))
}

/** Whether a sum of 64 bits may overflow, also in one of the orders in which the values can be added. */
export function mayOverflow(rows: Rows, request: GroupCase): boolean {
  const found = matches(rows, { ...request, ordering: [] })
  return request.aggregates.some(({ path, function: name }) => {
    if (name !== 'sum' && name !== 'avg') return false
    const values = found.map((row) => valueAt(rows, request.resource, path, row).value ?? 0)
    const sizes = values.map((value) => (Number(value) < 0 ? -scaled(value) : scaled(value)))
    return path.at(-1) === 'big' && sizes.reduce((sum, size) => sum + size, 0n) >= 2n ** 63n * 10n ** BigInt(scale)
  })
}

/** The parameters except `limit` and `page`, in the order in which links repeat them. */
function othersOf(request: GroupCase): readonly string[] {
  const { filters, groups, words, aggregates, by, having, ordering, turn } = request
  const sortKeys = ordering.map(({ member, descending }) => `${descending ? '-' : ''}${memberName(member)}`)
  const parameters = [
    `aggregate=${aggregates.map(memberName).join()}`,
    ...(by.length === 0 ? [] : [`by=${by.map(memberName).join()}`]),
    ...filters.map(parameterOf),
    ...groups.map(groupParameterOf),
    ...searchParameterOf(words),
    ...having.map(({ aggregate, operator, value }) => {
      return `${memberName(aggregate)}__${operator}=${encodeURIComponent(String(value))}`
    }),
    ...(sortKeys.length === 0 ? [] : [`ordering=${sortKeys.join()}`]),
  ]
  return rotate(parameters, turn)
}

const defaultLimit = 20

/** Path and query string of a page. */
export function groupsPath(request: GroupCase, page = request.page): string {
  const { resource, limit } = request
  const paging = [...(limit === undefined ? [] : [`limit=${limit}`]), ...(page === 1 ? [] : [`page=${page}`])]
  return `/api/${resource}/?${[...paging, ...othersOf(request)].join('&')}`
}

/** The response to a request for groups. */
export function groupsEnvelope(rows: Rows, request: GroupCase): object {
  const { resource, limit = defaultLimit, page } = request
  const found = groupsOf(rows, request)
  const link = (to: number): string => {
    return `/api/${resource}/?${[...othersOf(request), `limit=${limit}`, `page=${to}`].join('&')}`
  }
  return {
    meta: {
      model: resource,
      page,
      next: page * limit < found.length ? link(page + 1) : '',
      previous: page > 1 ? link(page - 1) : '',
    },
    objects: found.slice((page - 1) * limit, page * limit),
  }
}
