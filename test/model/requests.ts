import fc from 'fast-check'
import type { FormatCase } from './formats'
import type { Include } from './includes'
import type { ListCase } from './lists'
import { type Filter, type Group, isGroup, type Order } from './model'
import { idsOf, keyParts, poolOf, type Value } from './rows'
import {
  fieldsOf,
  keys,
  operatorsOf,
  type ResourceName,
  relations,
  requiredFields,
  resourceNames,
  type ValueType,
  valueFields,
} from './schema'

/** A PUT request. */
export interface WriteCase {
  readonly resource: ResourceName
  readonly id: Value
  readonly changes: Readonly<Record<string, Value>>
  readonly ifMatch: 'none' | 'current' | 'other'
}

const resource = fc.constantFrom(...resourceNames)

/** The values that a field of this resource can have. */
function valuesOf(name: ResourceName, field: string, type: ValueType): readonly Value[] {
  const relation = relations[name][field.replace(/_id$/, '')]
  if (relation !== undefined) return idsOf(relation.target)
  if (field === 'id') return idsOf(name)
  if (field in keys[name]) return [...new Set(idsOf(name).map((id) => keyParts(name, id)[field] ?? null))]
  return poolOf(field, type)
}

const pattern = fc
  .array(fc.constantFrom('%', '%', '_', 'a', 'b', 'A', 'é', 'É', '\\%', '\\_', '\\\\', ',', '"', '*', '?', '['), {
    maxLength: 4,
  })
  .map((parts) => parts.join(''))

/** Removes the fraction of a date-time if `isCut` is true. */
const cut = (value: Value, isCut: boolean): Value =>
  isCut && typeof value === 'string' && /\.\d{3}$/.test(value) && value.length > 19 ? value.slice(0, 19) : value

function operands(operator: string, type: ValueType, values: readonly Value[]): fc.Arbitrary<readonly Value[]> {
  if (operator === 'is') {
    const states = type === 'boolean' ? ['null', 'not_null', 'true', 'false'] : ['null', 'none', 'not_null']
    return fc.constantFrom(...states).map((state) => [state])
  }
  if (operator === 'like' || operator === 'ilike') return pattern.map((one) => [one])
  const one = fc
    .tuple(fc.constantFrom(...values), fc.boolean())
    .map(([value, isCut]) => cut(value, isCut && type === 'instant'))
  return operator === 'in' ? fc.array(one, { minLength: 1, maxLength: 4 }) : one.map((value) => [value])
}

/** A chain of relations that begins at a resource. */
const chain = (from: ResourceName, length: number): fc.Arbitrary<readonly string[]> => {
  if (length === 0) return fc.constant([])
  return fc
    .constantFrom(...Object.keys(relations[from]))
    .chain((name) => chain(relations[from][name]?.target ?? from, length - 1).map((rest) => [name, ...rest]))
}

export const targetOf = (from: ResourceName, through: readonly string[]): ResourceName =>
  through.reduce<ResourceName>((at, name) => relations[at][name]?.target ?? at, from)

const length = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.constant(1) },
  { weight: 3, arbitrary: fc.constant(2) },
  { weight: 1, arbitrary: fc.constant(3) },
  { weight: 1, arbitrary: fc.constant(4) },
)

/** One filter, or two with the same name. */
export const filtersOf = (from: ResourceName, pathLength = length): fc.Arbitrary<readonly Filter[]> =>
  pathLength
    .chain((count) => chain(from, count))
    .chain((through) => {
      const at = targetOf(from, through)
      return fc.constantFrom(...Object.entries(fieldsOf(at))).chain(([field, type]) =>
        fc.constantFrom(...operatorsOf(type)).chain((operator) =>
          fc
            .tuple(
              fc.array(operands(operator, type, valuesOf(at, field, type)), {
                minLength: 1,
                maxLength: 2,
                size: 'xsmall',
              }),
              fc.boolean(),
            )
            .map(([all, explicit]) =>
              all.map((values) => ({
                path: [...through, field],
                operator,
                values,
                // A parameter of the service has this name too.
                explicit: explicit || operator !== 'eq' || (through.length === 0 && field === 'limit'),
              })),
            ),
        ),
      )
    })

/** A chain of to-one relations that begins at a resource. */
export const chainOfOne = (from: ResourceName, length: number): fc.Arbitrary<readonly string[]> => {
  const names = Object.keys(relations[from]).filter((name) => relations[from][name]?.many === false)
  if (length === 0) return fc.constant([])
  return fc
    .constantFrom(...names)
    .chain((name) => chainOfOne(relations[from][name]?.target ?? from, length - 1).map((rest) => [name, ...rest]))
}

const ordersOf = (from: ResourceName): fc.Arbitrary<readonly Order[]> => {
  const orderOf = fc
    .constantFrom(0, 0, 0, 0, 1, 1, 2)
    .chain((length) => chainOfOne(from, length))
    .chain((through) => {
      const types = fieldsOf(targetOf(from, through))
      const fields = Object.keys(types).filter((field) => types[field] !== 'label')
      return fc.record({
        path: fc.constantFrom(...fields).map((field) => [...through, field]),
        descending: fc.boolean(),
        nulls: fc.constantFrom<Order['nulls']>(undefined, undefined, 'first', 'last'),
      })
    })
  return fc.array(orderOf, { maxLength: 3 })
}

/** A parameter that combines filters, with nested groups. */
const groupOf = (from: ResourceName, depth: number): fc.Arbitrary<Group> =>
  fc.record({
    type: fc.constantFrom('or', 'or', 'and', 'not'),
    members: fc
      .array(
        depth === 0
          ? filtersOf(from)
          : fc.oneof(
              { weight: 3, arbitrary: filtersOf(from) },
              groupOf(from, depth - 1).map((group) => [group]),
            ),
        { minLength: 1, maxLength: 3 },
      )
      .map((all) => all.flat()),
  })

/** Parameters that combine filters, most often none. */
export const groupsOfFilters = (from: ResourceName): fc.Arbitrary<readonly Group[]> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 2, arbitrary: fc.array(groupOf(from, 1), { maxLength: 2 }) },
    { weight: 1, arbitrary: groupOf(from, 2).map((group) => [group]) },
  )

/** Words of a search, most often none. */
export const wordsOf: fc.Arbitrary<readonly string[]> = fc.oneof(
  { weight: 5, arbitrary: fc.constant([]) },
  fc.array(
    fc.constantFrom(
      ...['a', 'b', 'A', 'ab', 'AB', 'c', 'É', 'é', 'ée', '%', '_', '\\', '"', "'", '*', '?', '[', ',', '(', 'null'],
      ...['本', 'ow', '100%', 'a_b', "o'B", 'zz'],
    ),
    { minLength: 1, maxLength: 2 },
  ),
)

/** Names in `fields`, most often undefined. */
const selectionOf = (from: ResourceName): fc.Arbitrary<readonly string[] | undefined> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    fc.subarray(Object.keys(fieldsOf(from)), { minLength: 1, maxLength: 5 }),
  )

/** Includes of a resource, with few filters, so that a request stays within the limits. */
const includesOf = (from: ResourceName, depth: number): fc.Arbitrary<readonly Include[]> =>
  fc
    .subarray(Object.keys(relations[from]), { maxLength: 2 })
    .chain((names) => fc.tuple(...names.map((name) => includeOf(from, name, depth))))

function includeOf(from: ResourceName, name: string, depth: number): fc.Arbitrary<Include> {
  const { target, many } = relations[from][name] ?? { target: from, many: false }
  const none = fc.constant([])
  const filters = filtersOf(target, fc.constantFrom(0, 0, 1))
  return fc
    .record({
      name: fc.constant(name),
      filters: many ? fc.oneof(none, filters) : none,
      groups: many
        ? fc.oneof(
            { weight: 3, arbitrary: none },
            filters.map((members) => [{ type: 'not' as const, members }]),
          )
        : none,
      words: many ? wordsOf : none,
      fields: selectionOf(target),
      ordering: many ? ordersOf(target).map((all) => all.slice(0, 1)) : none,
      limit: many ? fc.constantFrom(undefined, 1, 2, 0) : fc.constant(undefined),
      isCounted: many ? fc.boolean() : fc.constant(false),
      includes:
        depth === 0
          ? none
          : fc.oneof(
              none,
              includesOf(target, depth - 1).map((all) => all.slice(0, 1)),
            ),
    })
    .map((include) => (include.limit === 0 ? { ...include, isCounted: true } : include))
}

/** Number of tables that includes join to the statement of their list: those of relations to one. */
function includedJoinsOf(from: ResourceName, includes: readonly Include[]): number {
  return includes.reduce((sum, { name, includes: nested }) => {
    const relation = relations[from][name]
    return relation === undefined || relation.many ? sum : sum + 1 + includedJoinsOf(relation.target, nested)
  }, 0)
}

/**
 * Number of tables that the filters join; those at the end of a to-many relation count twice. A path of to-one relations is joined once,
 * any other path once for each group.
 */
export function joinsOf({
  resource,
  filters,
  groups,
  ordering,
}: Pick<ListCase, 'resource' | 'filters' | 'groups' | 'ordering'>): number {
  const joined = new Map<string, number>()
  let count = 0
  const visit = (members: readonly (Filter | Group)[]): void => {
    const group = count++
    for (const member of members) {
      if (isGroup(member)) {
        if (member.type === 'or') for (const one of member.members) visit([one])
        else visit(member.members)
        continue
      }
      let at = resource
      let isRelated = false
      for (const [index, name] of member.path.slice(0, -1).entries()) {
        const relation = relations[at][name]
        isRelated ||= relation?.many === true
        const path = member.path.slice(0, index + 1).map((part) => part.replace(/_id$/, ''))
        joined.set(`${isRelated ? group : ''} ${path.join('__')}`, relation?.many ? 2 : 1)
        at = relation?.target ?? at
      }
    }
  }
  visit([...filters, ...groups])
  for (const { path } of ordering) {
    const names = path.slice(0, -1)
    for (const index of names.keys()) joined.set(` ${names.slice(0, index + 1).join('__')}`, 1)
  }
  return [...joined.values()].reduce((sum, cost) => sum + cost, 0)
}

/** Generates requests for lists. */
export const listCases: fc.Arbitrary<ListCase> = resource.chain((name) =>
  fc
    .record({
      resource: fc.constant(name),
      // With many filters most lists are empty.
      filters: fc
        .oneof(...[1, 1, 2, 4].map((maxLength) => fc.array(filtersOf(name), { maxLength })))
        .map((all) => all.flat()),
      groups: groupsOfFilters(name),
      words: wordsOf,
      fields: selectionOf(name),
      ordering: ordersOf(name),
      limit: fc.constantFrom(undefined, 1000, 1, 2, 3, 1, 2, 3, 4, 5, 0),
      page: fc.oneof({ withCrossShrink: true }, fc.integer({ min: 1, max: 4 }), fc.constant(undefined)),
      count: fc.constantFrom(undefined, undefined, 'exact', 'capped'),
      includes: fc.oneof(fc.constant([]), includesOf(name, 1)),
      turn: fc.nat({ max: 9 }),
    })
    .map((request) => (request.limit === 0 && request.count === undefined ? { ...request, limit: undefined } : request))
    .filter((request) => joinsOf(request) + includedJoinsOf(name, request.includes) <= 8),
)

/** Generates requests for streamed lists. */
export const formatCases: fc.Arbitrary<FormatCase> = fc
  .tuple(listCases, fc.constantFrom('csv', 'ndjson'), fc.boolean())
  .map(([request, format, byHeader]) => ({
    ...request,
    format,
    byHeader,
    limit: request.limit === 0 ? undefined : request.limit,
    count: undefined,
    includes: [],
  }))

/** Generates PUT requests. */
export const writeCases: fc.Arbitrary<WriteCase> = resource.chain((name) => {
  const references = Object.entries(relations[name]).filter(([, { many }]) => !many)
  const fields = Object.entries(valueFields).map(([field, type]): [string, fc.Arbitrary<Value>] => {
    const value = fc
      .tuple(fc.constantFrom(...poolOf(field, type)), fc.boolean())
      .map(([one, isCut]) => cut(one, isCut && type === 'instant'))
    return [field, requiredFields.has(field) ? value : fc.oneof({ weight: 4, arbitrary: value }, fc.constant(null))]
  })
  const keysOf = references.map(([field, { target }]): [string, fc.Arbitrary<Value>] => [
    `${field}_id`,
    fc.constantFrom(...idsOf(target), null),
  ])
  return fc.record({
    resource: fc.constant(name),
    id: fc.constantFrom(...idsOf(name)),
    changes: fc
      .oneof(
        { weight: 3, arbitrary: fc.subarray([...fields, ...keysOf], { maxLength: 5 }) },
        // Includes an instant with a fraction, to check that the fraction is stored and part of the ETag.
        { weight: 1, arbitrary: fc.constant(fields.filter(([field]) => field === 'seen')) },
      )
      .chain((some) => fc.record(Object.fromEntries(some))),
    ifMatch: fc.constantFrom('none', 'none', 'current', 'other'),
  })
})
