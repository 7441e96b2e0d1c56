import type { RawRow } from '../connection/statement'
import { setPath } from '../read/entity'
import type { IncludedRow } from '../read/included'
import type { JsonRecord } from '../read/record'
import type { Store } from '../read/store'

/** Returns a function that sets a member of an include. @param path of the include @param suffix such as `_next` */
export function memberSetter(
  path: readonly string[],
  suffix = '',
): (record: JsonRecord, value: JsonRecord[string]) => void {
  const name = `${path.join('.')}${suffix}`
  if (path.length > 1) return (record, value) => setPath(record, name, value)
  return (record, value) => {
    record[name] = value
  }
}

/** The member of an include in a record that was parsed; undefined if there is none. */
export function memberAt(record: unknown, path: readonly string[], suffix = ''): JsonRecord[string] | undefined {
  const names = [...path.slice(0, -1), `${path.at(-1)}${suffix}`]
  return names.reduce<unknown>((value, name) => Object(value)[name], record) as JsonRecord[string] | undefined
}

/** The columns of an included record. */
export function sliceOf(raw: RawRow, position: number, length: number): RawRow {
  const slice: unknown[] = []
  for (let index = 0; index < length; index++) slice.push(raw[position + index] ?? null)
  return slice
}

export function groupByParent(rows: readonly IncludedRow[]): ReadonlyMap<string, readonly IncludedRow[]> {
  const byParent = new Map<string, IncludedRow[]>()
  for (const row of rows) {
    const ofParent = byParent.get(row.parent)
    if (ofParent === undefined) byParent.set(row.parent, [row])
    else ofParent.push(row)
  }
  return byParent
}

/** The store of a related view, with the policies of the principal. */
export function relatedStore(parent: Store, view: Store['view']): Store {
  const store = parent.storeOf(view)
  return parent.policies === undefined ? store : { ...store, policies: parent.policies }
}
