import fc from 'fast-check'
import {
  keys,
  ownedRelations,
  type ResourceName,
  relations,
  requiredFields,
  resourceNames,
  type ValueType,
  valueFields,
} from './schema'

/** A value in JSON; date-times also with milliseconds: `2024-01-01 10:20:30.512`. */
export type Value = string | number | boolean | null

/** Fields by name; foreign keys by the name of the relation; to-many relations as lists of ids. */
export interface Row {
  readonly id: Value
  readonly values: Readonly<Record<string, Value>>
  readonly many: Readonly<Record<string, readonly Value[]>>
}

/** All rows of a database, by resource, in the order of their keys. */
export type Rows = Readonly<Record<ResourceName, readonly Row[]>>

/** The values of rows and filters. There are few, so that filters often match. */
export const pools: Readonly<Record<Extract<ValueType, string>, readonly Value[]>> & {
  readonly [field: string]: readonly Value[]
} = {
  text: ['a', 'ab', 'abc', 'b', 'ba', 'c', 'cab'],
  label: [
    'Ab',
    'ab',
    'AB',
    'éa',
    'Éa',
    'a',
    'a,b',
    'q"r',
    '100%',
    'a_b',
    'a\\b',
    '',
    ' a',
    "o'b",
    '*?[',
    'null',
    '日本',
  ],
  integer: [-2, -1, 0, 1, 2, 3, 7],
  decimal: ['-1.50', '0.00', '0.10', '2.50', '10.00', '999999.99'],
  boolean: [true, false],
  date: ['1999-12-31', '2021-01-03', '2021-01-04', '2024-02-29', '2024-03-01', '2024-12-30'],
  time: ['00:00:00', '09:30:00', '09:30:01', '23:59:59'],
  instant: [
    '2023-03-26 01:30:00.000',
    '2023-10-29 23:30:00.250',
    '2023-12-31 23:59:59.999',
    '2024-01-01 00:00:00.000',
    '2024-01-01 00:00:00.001',
    '2024-01-01 00:00:00.512',
    '2024-01-01 00:00:01.000',
  ],
  enum: ['high', 'low', 'middle'],
  uuid: [1, 2, 3, 4].map((number) => `11111111-1111-4111-8111-00000000000${number}`),
  big: [-5, 0, 12, 9007199254740991, '9007199254740993', '9223372036854775807', '-9007199254740993'],
  ratio: [-1.25, 0, 0.5, 3, 1e10],
}

/** The values that a field of this type can have. */
export const poolOf = (field: string, type: ValueType): readonly Value[] =>
  pools[field] ?? (typeof type === 'string' ? pools[type] : [])

/** Number of rows of each resource. */
const sizes: Readonly<Record<ResourceName, number>> = { team: 4, person: 9, task: 10, tag: 5, entry: 9 }

const keyValues: Readonly<Record<ResourceName, (index: number) => readonly Value[]>> = {
  team: (index) => [`00000000-0000-4000-8000-00000000000${index + 1}`],
  person: (index) => [index + 1],
  task: (index) => [['a', 'ab', 'b'][index % 3] ?? 'a', Math.floor(index / 3) + 1],
  tag: (index) => [['ape', 'bee', 'cat', 'cow', 'dog'][index] ?? 'emu'],
  entry: (index) => [index < 3 ? index + 1 : `900719925474099${index}`],
}

/** The ids of a resource, which are the same in every database. */
export const idsOf = (resource: ResourceName): readonly Value[] =>
  Array.from({ length: sizes[resource] }, (_, index) => keyValues[resource](index))
    .toSorted((one, other) => compareKeys(one, other))
    .map((parts) => (parts.length === 1 ? (parts[0] ?? null) : parts.join()))

function compareKeys(one: readonly Value[], other: readonly Value[]): number {
  for (const [index, value] of one.entries()) {
    const against = other[index] ?? null
    if (value === against) continue
    if (typeof value === 'string' && typeof against === 'string' && !/^\d{16,}$/.test(value))
      return value < against ? -1 : 1
    return BigInt(value ?? 0) < BigInt(against ?? 0) ? -1 : 1
  }
  return 0
}

/** The parts of a key, by property, from its id. */
export function keyParts(resource: ResourceName, id: Value): Readonly<Record<string, Value>> {
  const names = Object.keys(keys[resource])
  if (names.length === 1) return { [names[0] ?? 'id']: id }
  const [board, number] = String(id).split(',')
  return { board: board ?? '', number: Number(number) }
}

const nullable = (field: string, values: readonly Value[]): fc.Arbitrary<Value> => {
  const some = fc.constantFrom(...values)
  if (requiredFields.has(field)) return some
  return fc.oneof({ weight: 3, arbitrary: some }, { weight: 1, arbitrary: fc.constant(null) })
}

const rowOf = (resource: ResourceName, id: Value): fc.Arbitrary<Row> => {
  const values = Object.entries(valueFields).map(([field, type]) => [field, nullable(field, poolOf(field, type))])
  const related = Object.entries(relations[resource])
  const references = related
    .filter(([, { many }]) => !many)
    .map(([name, { target }]) => [name, nullable(name, idsOf(target))])
  const owned = related
    .filter(([name]) => ownedRelations[resource]?.includes(name))
    .map(([name, { target }]) => [name, fc.subarray([...idsOf(target)], { maxLength: 3 })])
  return fc
    .tuple(fc.record(Object.fromEntries([...values, ...references])), fc.record(Object.fromEntries(owned)))
    .map(([value, lists]) => ({
      id,
      values: { ...keyParts(resource, id), id, ...(value as Record<string, Value>) },
      many: lists as Record<string, readonly Value[]>,
    }))
}

/** Inverse sides of relations: by resource and name, the resource and name of the owning side. */
const inverse: Readonly<Partial<Record<ResourceName, Readonly<Record<string, readonly [ResourceName, string]>>>>> = {
  team: { members: ['person', 'team'], tasks: ['task', 'team'] },
  person: { tasks: ['task', 'assignee'] },
  task: { entries: ['entry', 'task'] },
  tag: { tasks: ['task', 'tags'] },
}

function withInverse(rows: Rows): Rows {
  const complete = (resource: ResourceName, row: Row): Row => {
    const lists = Object.entries(inverse[resource] ?? {}).map(([name, [from, by]]) => [
      name,
      rows[from]
        .filter(({ values, many }) => (by in many ? many[by]?.includes(row.id) : values[by] === row.id))
        .map(({ id }) => id),
    ])
    return { ...row, many: { ...row.many, ...Object.fromEntries(lists) } }
  }
  return Object.fromEntries(
    resourceNames.map((resource) => [resource, rows[resource].map((row) => complete(resource, row))]),
  ) as unknown as Rows
}

/** Rows without those of one resource, and without references to it. */
function withoutRowsOf(rows: Rows, empty: ResourceName): Rows {
  const withoutReferences = (resource: ResourceName, row: Row): Row => {
    const removed = Object.entries(relations[resource]).filter(([, { target }]) => target === empty)
    return {
      ...row,
      values: { ...row.values, ...Object.fromEntries(removed.map(([name]) => [name, null])) },
      many: { ...row.many, ...Object.fromEntries(removed.map(([name]) => [name, []])) },
    }
  }
  return Object.fromEntries(
    resourceNames.map((resource) => [
      resource,
      resource === empty ? [] : rows[resource].map((row) => withoutReferences(resource, row)),
    ]),
  ) as unknown as Rows
}

/** All rows of a database, which depend only on the seed. @param empty a resource without rows */
export function rowsOf(seed: number, empty?: ResourceName): Rows {
  const generated = fc.record(
    Object.fromEntries(
      resourceNames.map((resource) => [resource, fc.tuple(...idsOf(resource).map((id) => rowOf(resource, id)))]),
    ),
  )
  const [rows] = fc.sample(generated, { seed, numRuns: 1 })
  const all = rows as unknown as Rows
  return withInverse(empty === undefined ? all : withoutRowsOf(all, empty))
}
