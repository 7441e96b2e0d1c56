import { itemUrl } from '../client/writes.ts'
import { createSubscribe, type LiveProviderOptions, type Subscription } from './live.ts'
import type { LiveMethods, RealtimeEvent } from './react-admin-types.ts'

/**
 * Creates the methods `subscribe` and `unsubscribe` of a data provider, as ra-realtime expects them. Subscriptions to the same
 * topic share one connection. There is no `publish`, because the service reports all changes itself.
 * @param baseUrl URL of the mount, such as `/api`; it must have the option `live`
 * @example
 * const dataProvider = { ...createDataProvider('/api', { fetch }), ...createLiveMethods('/api', { fetch }) }
 */
export function createLiveMethods(baseUrl: string, options: LiveProviderOptions = {}): LiveMethods {
  const subscribe = createSubscribe(baseUrl, options)
  const open: [topic: string, callback: (event: RealtimeEvent) => void, subscription: Subscription][] = []
  return {
    subscribe: async (topic, callback) => {
      const subscription = subscribe(pathOf(topic), ({ type, ids }) =>
        callback({ topic, type, payload: { ids: [...ids] }, date: new Date() }),
      )
      open.push([topic, callback, subscription])
      await subscription.begun
    },
    unsubscribe: async (topic, callback) => {
      const index = open.findIndex((one) => one[0] === topic && one[1] === callback)
      const [closed] = index < 0 ? [] : open.splice(index, 1)
      closed?.[2].close()
    },
  }
}

/** Path of the list or the record of a topic. @throws {Error} for a topic of another form */
function pathOf(topic: string): string {
  const [, resource, id] = /^resource\/([^/]+)(?:\/(.+))?$/s.exec(topic) ?? []
  if (resource === undefined) {
    throw new Error(`unknown topic "${topic}"; topics: resource/<resource>, resource/<resource>/<id>`)
  }
  return id === undefined ? `${resource}/` : itemUrl(`${resource}/`, id)
}
