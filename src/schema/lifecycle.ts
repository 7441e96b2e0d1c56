import type { DataSource, EntityMetadata, EntitySubscriberInterface } from 'typeorm'
import { childrenOf } from './metadata'

/** The groups of events that an entity has listeners or subscribers for. */
export interface Lifecycle {
  /** For reading: `@AfterLoad`. */
  readonly load: boolean
  /** For inserting, updating or removing. */
  readonly write: boolean
  /** For restoring soft-deleted records. */
  readonly recover: boolean
  /** Before an INSERT, where missing values may be filled in. */
  readonly beforeInsert: boolean
}

/**
 * Marks a subscriber that only observes, so that it does not count as one of the application. It may belong to another copy
 * of this package.
 */
export const observingSubscriber = Symbol.for('typeorm-resources.observingSubscriber')

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

const recoverEvents = ['beforeRecover', 'afterRecover'] as const

/** Finds the listeners of the entity and of its children in the same table, and the subscribers of the data source. */
export function lifecycleOf(metadata: EntityMetadata, { subscribers }: DataSource): Lifecycle {
  const entities = [metadata, ...childrenOf(metadata)]
  const ownSubscribers = subscribers.filter(
    (subscriber) =>
      !(observingSubscriber in subscriber) && entities.some(({ target }) => listensTo(subscriber, target)),
  )
  const listenerEvents = new Set<string>(
    entities.flatMap(({ listeners }) => listeners.map(({ type }) => type.replaceAll('-', ''))),
  )
  const isHandled = (event: Event): boolean =>
    listenerEvents.has(event.toLowerCase()) || ownSubscribers.some((subscriber) => subscriber[event] !== undefined)
  return {
    load: isHandled('afterLoad'),
    write: writeEvents.some(isHandled),
    recover: recoverEvents.some(isHandled),
    beforeInsert: isHandled('beforeInsert'),
  }
}

type Event = (typeof writeEvents)[number] | (typeof recoverEvents)[number] | 'afterLoad'

/**
 * Whether TypeORM's broadcaster would call the subscriber for the entity. A subscriber without `listenTo` is called for
 * all entities.
 */
function listensTo(subscriber: EntitySubscriberInterface, target: EntityMetadata['target']): boolean {
  const listenedTo = subscriber.listenTo?.()
  if (listenedTo === undefined || listenedTo === Object || listenedTo === target) return true
  return typeof listenedTo === 'function' && typeof target === 'function' && target.prototype instanceof listenedTo
}
