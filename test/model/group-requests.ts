import fc from 'fast-check'
import type { Aggregate, GroupCase, GroupKey, Having } from './groups'
import { chainOfOne, filtersOf, groupsOfFilters, joinsOf, targetOf, wordsOf } from './requests'
import { poolOf, type Value } from './rows'
import { fieldsOf, type ResourceName, resourceNames, type ValueType } from './schema'

/** Generates requests for groups. */

const lengths = fc.constantFrom(0, 0, 0, 0, 1, 1, 2)

/** Path of to-one relations and a field whose type is accepted. */
const fieldPath = (
  from: ResourceName,
  accepts: (type: ValueType, name: string) => boolean,
): fc.Arbitrary<{ readonly path: readonly string[]; readonly type: ValueType }> =>
  lengths
    .chain((length) => chainOfOne(from, length))
    .chain((through) => {
      const fields = Object.entries(fieldsOf(targetOf(from, through)))
      return fc
        .constantFrom(...fields.filter(([name, type]) => accepts(type, name)))
        .map(([name, type]) => ({ path: [...through, name], type }))
    })

const isNumber = (type: ValueType): boolean => type === 'integer' || type === 'decimal'
const isOrdered = (type: ValueType): boolean => isNumber(type) || ['date', 'time', 'instant'].includes(String(type))
const hasDate = (type: ValueType): boolean => type === 'date' || type === 'instant'

const aggregateOf = (from: ResourceName): fc.Arbitrary<Aggregate> => {
  const functions = fc.constantFrom<Aggregate['function'][]>(
    'count',
    'sum',
    'sum',
    'avg',
    'min',
    'max',
    'count_distinct',
  )
  return functions.chain((name): fc.Arbitrary<Aggregate> => {
    if (name === 'count') return fc.constant({ path: [], function: name })
    const accepts = (type: ValueType): boolean => {
      if (name === 'count_distinct') return typeof type === 'string' && type !== 'instant' && type !== 'time'
      return name === 'min' || name === 'max' ? isOrdered(type) : isNumber(type)
    }
    return fieldPath(from, accepts).map(({ path }) => ({ path, function: name }))
  })
}

const keyOf = (from: ResourceName): fc.Arbitrary<GroupKey> =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fieldPath(
        from,
        (type, name) => typeof type === 'string' && type !== 'instant' && type !== 'time' && name !== 'ratio',
      ).map(({ path }) => ({ path, part: undefined })),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          fieldPath(from, hasDate),
          fc.constantFrom<NonNullable<GroupKey['part']>[]>('year', 'quarter', 'month', 'week', 'day'),
        )
        .map(([{ path }, part]) => ({ path, part })),
    },
  )

/** Operands of filters on sums, which may have more digits than a double. */
const sums: readonly Value[] = [-5, 0, 2.5, 3, '0.1', '10.00', '9007199254740993', '9223372036854775819', '-0.00000001']

const havingOf = (from: ResourceName, aggregate: Aggregate): fc.Arbitrary<Having> => {
  const { path, function: name } = aggregate
  const field = path.at(-1) ?? ''
  const type = fieldsOf(targetOf(from, path.slice(0, -1)))[field] ?? 'integer'
  const isExtreme = name === 'min' || name === 'max'
  const operands = (): readonly Value[] => {
    if (name === 'count' || name === 'count_distinct') return [0, 1, 2, 3, 1.5]
    // Averages are rounded, so that no operand may equal one.
    if (name === 'avg') return [-1.0123, 0.7123, 2.4123, 100.5123]
    if (isExtreme) return poolOf(field, type).length > 0 ? poolOf(field, type) : [1, 2, 5]
    return field === 'ratio' ? poolOf(field, type) : sums
  }
  return fc.record({
    aggregate: fc.constant(aggregate),
    operator: fc.constantFrom('eq', 'ne', 'lt', 'lte', 'gt', 'gte'),
    value: fc.constantFrom(...operands()),
  })
}

/** Whether databases sort this field as the model does. */
const isSortable = (member: Aggregate | GroupKey): boolean =>
  'part' in member || member.function !== 'avg' || member.path.at(-1) !== 'price'

const distinct = <T extends Aggregate | GroupKey>(members: readonly T[]): readonly T[] => [
  ...new Map(members.map((member) => [JSON.stringify(member), member])).values(),
]

/** Requests for groups. */
export const groupCases: fc.Arbitrary<GroupCase> = fc
  .constantFrom(...resourceNames)
  .chain((resource) =>
    fc
      .tuple(
        fc.array(aggregateOf(resource), { minLength: 1, maxLength: 3 }).map(distinct),
        fc.array(keyOf(resource), { maxLength: 3, size: 'max' }).map(distinct),
      )
      .chain(([aggregates, by]) => {
        const sortable = [...aggregates, ...by].filter(isSortable)
        const having = fc.constantFrom(...aggregates).chain((aggregate) => havingOf(resource, aggregate))
        return fc.record({
          resource: fc.constant(resource),
          filters: fc.oneof(
            { weight: 2, arbitrary: fc.constant([]) },
            fc.array(filtersOf(resource), { maxLength: 2 }).map((all) => all.flat()),
          ),
          groups: groupsOfFilters(resource),
          words: wordsOf,
          aggregates: fc.constant(aggregates),
          by: fc.constant(by),
          having: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(having, { maxLength: 2 })),
          ordering: fc
            .subarray(sortable)
            .chain((members) =>
              fc.tuple(...members.map((member) => fc.boolean().map((descending) => ({ member, descending })))),
            ),
          limit: fc.constantFrom(undefined, undefined, 1, 2, 3, 5),
          page: fc.constantFrom(1, 1, 1, 2, 3),
          turn: fc.nat({ max: 9 }),
        })
      }),
  )
  .filter((request) => {
    const orders = [...request.aggregates, ...request.by]
    const ordering = orders.map(({ path }) => ({ path, descending: false, nulls: undefined }))
    return joinsOf({ ...request, ordering }) <= 8
  })
