import type { ResourceView, WriteAction } from '../schema/resource-view'
import type { Route } from './custom-actions'

/** A resource, and the writes that the reader of the document may do. */
export interface DescribedResource {
  readonly view: ResourceView
  readonly writes: ReadonlySet<WriteAction>
  /** The routes that the application has added. Default: none. */
  readonly routes?: readonly Route[]
  /** Path of the mount, with which the paths of these routes begin: `/api`. */
  readonly base?: string
  /** Whether its lists and records can be live. Default: false. */
  readonly isLive?: boolean
}

const allWrites: readonly WriteAction[] = ['create', 'update', 'delete', 'restore']

/** @param permits whether `may` permits a write for at least some records. Default: it permits every write */
export function describedResource(
  view: ResourceView,
  permits: (action: WriteAction) => boolean = () => true,
): DescribedResource {
  const isPossible = (action: WriteAction): boolean => action !== 'restore' || view.may.restore !== undefined
  const writes = view.writable ? allWrites.filter((action) => isPossible(action) && permits(action)) : []
  return { view, writes: new Set(writes) }
}
