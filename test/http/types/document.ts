import type { ColumnOptions } from 'typeorm'
import type { TypeRow, TypeTable } from './row'

const filters: Readonly<Record<TypeRow['filters'], string>> = {
  all: 'all',
  order: 'all but `like`, `ilike`',
  equality: '`eq`, `ne`, `in`, `is`',
  null: '`is`',
}

/** The table of a driver's types in docs/reference/types.md, cell by cell; types of the same JSON and operators in one row. */
export function documentedRows({ rows, binary, without, withoutArrays }: TypeTable): readonly (readonly string[])[] {
  const alike = new Map<string, TypeRow[]>()
  for (const row of rows) {
    const key = `${row.json} ${row.filters}`
    alike.set(key, [...(alike.get(key) ?? []), row])
  }
  const types = [...alike.values()].map((group) => {
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

/** A type with what says more of its values, as `decimal(p,s)`. */
function shapeOf(type: string, { length, scale, unsigned, array, hstoreType }: ColumnOptions = {}): string {
  const numbers = length === undefined ? (scale === undefined ? '' : '(p,s)') : '(n)'
  return `${type}${numbers}${unsigned ? ' unsigned' : ''}${array ? '[]' : ''}${hstoreType ? ` as ${hstoreType}` : ''}`
}

const code = (text: string): string => `\`${text}\``
const list = (types: readonly string[]): string => [...new Set(types)].map(code).join(', ')
