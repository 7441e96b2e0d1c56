import { type Filter, type Group, groupMemberOf, matches, memberOf, type Order, recordOf, sortKeyOf } from './model'
import type { Row, Rows } from './rows'
import { type ResourceName, relations } from './schema'

/** Related records that a request includes. The parameters other than `includes` exist only for relations to many. */
export interface Include {
  readonly name: string
  readonly filters: readonly Filter[]
  readonly groups: readonly Group[]
  readonly ordering: readonly Order[]
  readonly limit: number | undefined
  readonly isCounted: boolean
  readonly includes: readonly Include[]
}

/** Relations to many without an inverse relation, so that no link leads to the records that follow. */
const oneSided = ['friends']
const defaultLimit = 100

/** The parameter `include`; undefined without includes. */
export function includeParameterOf(includes: readonly Include[]): string | undefined {
  return includes.length === 0 ? undefined : `include=${encodeURIComponent(includes.map(textOf).join())}`
}

function textOf({ name, filters, groups, ordering, limit, isCounted, includes }: Include): string {
  const parts = [
    ...filters.map(memberOf),
    ...groups.map(groupMemberOf),
    ...(ordering.length === 0 ? [] : [`ordering:(${ordering.map(sortKeyOf).join()})`]),
    ...(limit === undefined ? [] : [`limit:${limit}`]),
    ...(isCounted ? ['count:exact'] : []),
    ...(includes.length === 0 ? [] : [`include:(${includes.map(textOf).join()})`]),
  ]
  return parts.length === 0 ? name : `${name}(${parts.join()})`
}

/** The record of a row as JSON, with the related records. */
export function includingRecordOf(
  rows: Rows,
  resource: ResourceName,
  row: Row,
  includes: readonly Include[],
): Readonly<Record<string, unknown>> {
  return Object.assign(
    {},
    recordOf(resource, row),
    ...includes.map((include) => membersOf(rows, resource, row, include)),
  )
}

function membersOf(rows: Rows, resource: ResourceName, row: Row, include: Include): Readonly<Record<string, unknown>> {
  const { name, limit = defaultLimit, isCounted, includes } = include
  const { target, many } = relations[resource][name] ?? { target: resource, many: false }
  const toRecord = (one: Row) => includingRecordOf(rows, target, one, includes)
  if (!many) {
    const found = rows[target].find(({ id }) => id === row.values[name])
    return { [name]: found === undefined ? null : toRecord(found) }
  }
  const ids = row.many[name] ?? []
  const found = matches(rows, { ...include, resource: target }).filter(({ id }) => ids.includes(id))
  const link = oneSided.includes(name) ? null : expect.stringMatching(`^/api/${target}/\\?.*limit=${limit}&page=2$`)
  return {
    [name]: found.slice(0, limit).map(toRecord),
    [`${name}_next`]: found.length > limit && limit > 0 ? link : '',
    ...(isCounted && { [`${name}_total`]: found.length }),
  }
}
