import type { DataSource, EntityMetadata, EntitySubscriberInterface } from 'typeorm'
import type { Lifecycle } from './registry'

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
  const hasListeners = (events: readonly string[]): boolean =>
    family.some(({ listeners }) => listeners.some(({ type }) => events.includes(type.replaceAll('-', ''))))
  return {
    load: hasListeners(['afterload']) || heard.some((subscriber) => subscriber.afterLoad !== undefined),
    write:
      hasListeners(writeEvents.map((event) => event.toLowerCase())) ||
      heard.some((subscriber) => writeEvents.some((event) => subscriber[event] !== undefined)),
  }
}

/** As TypeORM's broadcaster decides it: a subscriber without `listenTo` hears of every entity. */
function listensTo(subscriber: EntitySubscriberInterface, target: EntityMetadata['target']): boolean {
  const heard = subscriber.listenTo?.()
  if (heard === undefined || heard === Object || heard === target) return true
  return typeof heard === 'function' && typeof target === 'function' && target.prototype instanceof heard
}
