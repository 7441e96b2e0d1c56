import { ownerKey } from '../../query/owner'
import { type Presets, presetsOf } from '../../query/presets'
import type { ResourceView } from '../../schema/resource-view'
import { type WriteStore, withPolicies } from '../../write/write-store'
import type { PermittedRequest } from '../service'

/** Related resource whose records a request writes. */
export interface RelatedResource {
  readonly store: WriteStore
  /** Returns the values that the application sets in new records. */
  readonly presets: () => Presets
  /** Returns the key of the owner that the principal is; undefined without the option `ownerField`. */
  readonly owner: () => unknown
}

/**
 * Returns a function for the related resources of a request. Presets are computed once: the function of the application may
 * return another date or number each time.
 */
export function relatedResources({ store, principal }: PermittedRequest): (view: ResourceView) => RelatedResource {
  const known = new Map<ResourceView, RelatedResource>()
  return (view) => {
    const found = known.get(view)
    if (found !== undefined) return found
    const { policies } = store
    const plain = store.writeStoreOf(view)
    let presets: Presets | undefined
    const resource: RelatedResource = {
      store: policies === undefined ? plain : withPolicies(plain, policies),
      presets: () => (presets ??= presetsOf(view, policies)),
      owner: () => ownerKey(view, principal),
    }
    known.set(view, resource)
    return resource
  }
}
