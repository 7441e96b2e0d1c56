import { isComputed } from './metadata'
import type { ResourceView } from './resource-view'
import { findSearchField } from './search-fields'

/**
 * Mistakes of a text search index that are known without the database.
 * @param paths property paths of its fields
 */
export function mistakesOfIndex(view: ResourceView, paths: readonly string[], index: string): readonly string[] {
  const { metadata } = view
  const found = paths.flatMap((path) => {
    const one = findSearchField(view, path)
    return one === undefined ? [] : [{ path, ...one }]
  })
  const ofFields = found.flatMap(({ path, through, field: { columns } }) => {
    const [stored] = columns
    if (through.length > 0) return [`"search" names "${path}", a field of a related record, which no index contains`]
    if (stored === undefined || isComputed(stored.column)) {
      return [`"search" names "${path}", which is computed: an index cannot contain it`]
    }
    if (stored.valueColumn.transformer === undefined) return []
    return [`"search" names "${path}", which has a transformer: the index contains other texts than records show`]
  })
  const declared = metadata.indices.find(({ name }) => name === index)
  const names = found.flatMap(({ field }) => field.columns.map(({ column }) => column.databaseName))
  const declaredNames = declared?.columns.map(({ databaseName }) => databaseName) ?? []
  return [
    ...ofFields,
    ...(declared?.synchronize === true && !isSameSet(names, declaredNames)
      ? [`"search" names the index "${index}" of other columns: ${declaredNames.join(', ')}`]
      : []),
  ]
}

function isSameSet(names: readonly string[], others: readonly string[]): boolean {
  return names.length === others.length && names.every((name) => others.includes(name))
}
