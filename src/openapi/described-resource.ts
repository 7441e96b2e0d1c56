import type { ResourceView, WriteAction } from '../schema/resource-view'

/** A resource, and the writes that the reader of the document may do. */
export interface DescribedResource {
  readonly view: ResourceView
  readonly writes: ReadonlySet<WriteAction>
}

const allWrites: readonly WriteAction[] = ['create', 'update', 'delete']

/** @param permits whether `may` permits a write for at least some records. Default: it permits every write */
export function describedResource(
  view: ResourceView,
  permits: (action: WriteAction) => boolean = () => true,
): DescribedResource {
  return { view, writes: new Set(view.writable ? allWrites.filter(permits) : []) }
}
