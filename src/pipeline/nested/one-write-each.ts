import { ApiError } from '../../errors'
import { keyId } from '../../read/row'
import { isChanged, type PlannedRecord, recordsIn } from '../../write/nested/planned'
import type { WriteStore, WriteTarget } from '../../write/write-store'

/** What a request does with a stored record that its body contains (`changes`, `keeps`) or leaves out (`deletes`). */
type Effect = 'changes' | 'keeps' | 'deletes'

/**
 * Refuses to change a record twice, and to delete a record that the body also contains. A record can be in two lists of its
 * parent, or, in an entity that refers to itself, be its own parent or a related record of its related records.
 * @throws {ApiError} `conflict`
 */
export function requireOneWriteEach(root: PlannedRecord): void {
  const effects = new Map<string, Effect>()
  const add = ({ view }: WriteStore, { key }: WriteTarget, effect: Effect, path: string): void => {
    const record = `${view.metadata.tablePath} ${keyId(view, key)}`
    const other = effects.get(record)
    effects.set(record, effect === 'keeps' && other !== undefined ? other : effect)
    if (other === undefined) return
    const id = JSON.stringify(view.key.valueType.toJson(key))
    const subject = `${path} ${effect === 'deletes' ? 'without' : 'with'} the id ${id}`
    if (effect !== other && [effect, other].includes('deletes'))
      throw new ApiError('conflict', `${subject}: a request cannot delete the ${view.name} that it also contains`)
    if (effect === 'changes' && other === 'changes')
      throw new ApiError('conflict', `${subject}: a request cannot change the same ${view.name} twice`)
  }
  if (root.target !== undefined) add(root.store, root.target, 'changes', root.path)
  const lists = recordsIn(root).flatMap(({ members }) => members.filter((member) => member.type === 'list'))
  for (const { path, store, updates, unchanged, deletes } of lists) {
    for (const record of updates) {
      if (record.target !== undefined) add(store, record.target, isChanged(record) ? 'changes' : 'keeps', path)
    }
    for (const target of unchanged) add(store, target, 'keeps', path)
    for (const target of deletes) add(store, target, 'deletes', path)
  }
}
