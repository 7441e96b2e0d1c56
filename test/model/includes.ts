import {
  type Filter,
  type Group,
  groupMemberOf,
  type ListQuery,
  matches,
  memberOf,
  type Order,
  recordOf,
  sortKeyOf,
} from './model'
import type { Row, Rows } from './rows'
import { type ResourceName, relations } from './schema'

/** Related records that a request includes. The parameters other than `includes` exist only for relations to many. */
export interface Include {
  readonly name: string
  readonly filters: readonly Filter[]
  readonly groups: readonly Group[]
  readonly words: readonly string[]
  readonly ordering: readonly Order[]
  readonly limit: number | undefined
  readonly isCounted: boolean
  readonly includes: readonly Include[]
  /** Names of fields; undefined for all. */
  readonly fields: readonly string[] | undefined
}

/** Relations to many without an inverse relation, so that no link leads to the records that follow. */
const oneSided = ['friends']
const defaultLimit = 100

/** The parameter `include`; undefined without includes. */
export function includeParameterOf(includes: readonly Include[]): string | undefined {
  return includes.length === 0 ? undefined : `include=${encodeURIComponent(includes.map(textOf).join())}`
}

function textOf({ name, filters, groups, words, ordering, limit, isCounted, includes, fields }: Include): string {
  const parts = [
    ...filters.map(memberOf),
    ...groups.map(groupMemberOf),
    ...(words.length === 0 ? [] : [`search:"${words.join(' ').replaceAll('"', '""')}"`]),
    ...(ordering.length === 0 ? [] : [`ordering:(${ordering.map(sortKeyOf).join()})`]),
    ...(limit === undefined ? [] : [`limit:${limit}`]),
    ...(isCounted ? ['count:exact'] : []),
    ...(includes.length === 0 ? [] : [`include:(${includes.map(textOf).join()})`]),
    ...(fields === undefined ? [] : [`fields:(${fields.join()})`]),
  ]
  return parts.length === 0 ? name : `${name}(${parts.join()})`
}

/** The selected fields of a row as JSON, with the related records. */
function includingRecordOf(
  rows: Rows,
  resource: ResourceName,
  row: Row,
  { includes, fields }: Pick<Include, 'includes' | 'fields'>,
): Readonly<Record<string, unknown>> {
  return Object.assign(
    {},
    selectFields(recordOf(resource, row), fields),
    ...includes.map((include) => membersOf(rows, resource, row, include)),
  )
}

/** The members of a record that `fields` names, and `id`. A foreign key may be named without `_id`. */
function selectFields<T>(record: Readonly<Record<string, T>>, fields: Include['fields']): Readonly<Record<string, T>> {
  const isSelected = (name: string): boolean =>
    fields === undefined || name === 'id' || fields.includes(name) || fields.includes(name.replace(/_id$/, ''))
  return Object.fromEntries(Object.entries(record).filter(([name]) => isSelected(name)))
}

/** All records of a list, without pages. */
export function selectedRecords(
  rows: Rows,
  request: ListQuery & Pick<Include, 'includes' | 'fields'>,
): readonly Readonly<Record<string, unknown>>[] {
  return matches(rows, request).map((row) => includingRecordOf(rows, request.resource, row, request))
}

function membersOf(rows: Rows, resource: ResourceName, row: Row, include: Include): Readonly<Record<string, unknown>> {
  const { name, limit = defaultLimit, isCounted } = include
  const { target, many } = relations[resource][name] ?? { target: resource, many: false }
  const toRecord = (one: Row) => includingRecordOf(rows, target, one, include)
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
