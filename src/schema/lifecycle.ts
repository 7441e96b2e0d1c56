import type { DataSource, EntityMetadata, EntitySubscriberInterface } from 'typeorm'

/** Whether an entity has listeners or subscribers. */
export interface Lifecycle {
  /** For what is read: `@AfterLoad`. */
  readonly load: boolean
  /** For what is inserted, updated or removed. */
  readonly write: boolean
  /** Before an INSERT, so that what a request lacks may be filled in. */
  readonly beforeInsert: boolean
}

const writeEvents = [
  'beforeInsert',
  'afterInsert',
  'beforeUpdate',
  'afterUpdate',
  'beforeRemove',
  'afterRemove',
  'beforeSoftRemove',
  'afterSoftRemove',
] as const

/** Looks for listeners of the entity, those of the types that share its table, and subscribers of the data source. */
export function lifecycleOf(metadata: EntityMetadata, { subscribers }: DataSource): Lifecycle {
  const family = [metadata, ...metadata.childEntityMetadatas]
  const heard = subscribers.filter((subscriber) => family.some(({ target }) => listensTo(subscriber, target)))
  const listeners = new Set<string>(family.flatMap((one) => one.listeners.map(({ type }) => type.replaceAll('-', ''))))
  const isHeard = (event: Event): boolean =>
    listeners.has(event.toLowerCase()) || heard.some((subscriber) => subscriber[event] !== undefined)
  return { load: isHeard('afterLoad'), write: writeEvents.some(isHeard), beforeInsert: isHeard('beforeInsert') }
}

type Event = (typeof writeEvents)[number] | 'afterLoad'

/** As TypeORM's broadcaster decides it: a subscriber without `listenTo` hears of every entity. */
function listensTo(subscriber: EntitySubscriberInterface, target: EntityMetadata['target']): boolean {
  const heard = subscriber.listenTo?.()
  if (heard === undefined || heard === Object || heard === target) return true
  return typeof heard === 'function' && typeof target === 'function' && target.prototype instanceof heard
}
