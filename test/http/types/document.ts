import type { ColumnOptions } from 'typeorm'
import { orderOperators, textOperators } from '../../../src/value/value-type'
import type { TypeRow, TypeTable } from './row'

const code = (text: string): string => `\`${text}\``
const list = (names: readonly string[]): string => [...new Set(names)].map(code).join(', ')

const filters: Readonly<Record<TypeRow['filters'], string>> = {
  all: 'all',
  order: `all but ${list(textOperators.filter((operator) => !orderOperators.includes(operator)))}`,
  equality: '`eq`, `ne`, `in`, `is`',
  null: '`is`',
}

/** The rows of the table of a driver's types in docs/reference/types.md; types with the same JSON and operators share a row. */
export function documentedRows({ rows, binary, without, withoutArrays }: TypeTable): readonly (readonly string[])[] {
  const groups = new Map<string, TypeRow[]>()
  for (const row of rows) {
    const key = `${row.json} ${row.filters}`
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  const types = [...groups.values()].map((group) => {
    const [first] = group
    const labels = group.flatMap((row) => row.types.map((type) => shapeOf(type, row.options)))
    return [list(labels), first?.json ?? '', code(JSON.stringify(first?.same[0])), filters[first?.filters ?? 'null']]
  })
  const refused = [...without, ...withoutArrays.map((type) => `${type}[]`)]
  return [
    ...types,
    [list(binary.map(([type]) => type)), 'never exposed', '', ''],
    [list(refused), 'refused at mount: exclude it', '', ''],
  ]
}

/** A type with its parameters, as `decimal(p,s)`. */
function shapeOf(type: string, { length, scale, unsigned, array, hstoreType }: ColumnOptions = {}): string {
  const numbers = length === undefined ? (scale === undefined ? '' : '(p,s)') : '(n)'
  return `${type}${numbers}${unsigned ? ' unsigned' : ''}${array ? '[]' : ''}${hstoreType ? ` as ${hstoreType}` : ''}`
}
