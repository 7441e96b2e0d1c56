import { followEvents, type LiveEvent } from '../client/events.ts'
import type { ClientOptions } from '../client/index.ts'
import { buildSend, type Send } from '../client/send.ts'
import type { Identifier } from './collection.ts'

/** Options of the live providers, in addition to those of the client. */
export type LiveProviderOptions = ClientOptions & {
  /** Receives the error that has ended a subscription, such as a refusal. Default: `console.error`. */
  readonly onError?: (error: unknown) => void
}

/** Changes of records that were reported together. */
export interface RecordChange {
  readonly type: 'created' | 'updated' | 'deleted'
  /** Ids of the records; empty if it is not known which records have changed. */
  readonly ids: readonly Identifier[]
}

type Listener = (change: RecordChange) => void

/** A subscription to the changes of a list or a record. */
export interface Subscription {
  /** Resolves when the service has started to send changes, or has refused the subscription. */
  readonly begun: Promise<void>
  readonly close: () => void
}

/** Subscribes to the changes at a path below the URL of the mount. */
export type Subscribe = (path: string, listener: Listener) => Subscription

/** Connection that all subscriptions to a path share, because browsers limit the number of connections to a server. */
interface Connection {
  readonly listeners: Set<Listener>
  readonly begun: Promise<void>
  readonly close: () => void
}

/** @param baseUrl URL of the mount */
export function createSubscribe(
  baseUrl: string,
  { onError = console.error, ...options }: LiveProviderOptions,
): Subscribe {
  const send = buildSend(options)
  const base = baseUrl.replace(/\/+$/, '')
  const connections = new Map<string, Connection>()
  return (path, listener) => {
    const known = connections.get(path)
    const connection = known ?? connect(send, `${base}/${path}`, onError, () => connections.delete(path))
    const { listeners, begun, close } = connection
    connections.set(path, connection)
    listeners.add(listener)
    return {
      begun,
      close: () => {
        if (listeners.delete(listener) && listeners.size === 0) close()
      },
    }
  }
}

/** @param whenClosed called when no more changes will be reported */
function connect(send: Send, url: string, onError: (error: unknown) => void, whenClosed: () => void): Connection {
  const listeners = new Set<Listener>()
  const control = new AbortController()
  const close = (): void => {
    control.abort()
    whenClosed()
  }
  const begun = new Promise<void>((resolve) => {
    let isFirst = true
    const receive = (events: readonly LiveEvent[]): void => {
      // The first event has the whole list, which the subscribers read themselves.
      const changes = changesOf(isFirst ? events.slice(1) : events)
      isFirst = false
      resolve()
      for (const change of changes) {
        // An error of a listener must not end the connection.
        for (const listener of listeners) queueMicrotask(() => listeners.has(listener) && listener(change))
      }
    }
    followEvents(send, url, control.signal, receive).catch((error: unknown) => {
      if (!control.signal.aborted) {
        close()
        onError(error)
      }
      resolve()
    })
  })
  return { listeners, begun, close }
}

const types = { created: 'created', updated: 'updated', gone: 'deleted' } as const

/** Changes of each type, with the ids of all records that were changed so. */
function changesOf(events: readonly LiveEvent[]): readonly RecordChange[] {
  const ids = new Map<RecordChange['type'], Identifier[]>()
  for (const event of events) {
    if (event.name === 'reset') return [{ type: 'updated', ids: [] }]
    const type = types[event.name]
    ids.set(type, [...(ids.get(type) ?? []), event.data.id])
  }
  return [...ids].map(([type, changed]) => ({ type, ids: changed }))
}
