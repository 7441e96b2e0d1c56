import { createSubscribe, type LiveProviderOptions } from './live.ts'
import type { LiveProvider } from './refine-types.ts'

/**
 * Creates a live provider for Refine 5. The hooks of a resource share one connection, which receives the changes of all records
 * of the resource. There is no `publish`, because the service reports all changes itself.
 * @param baseUrl URL of the mount, such as `/api`; it must have the option `live`
 * @example
 * <Refine dataProvider={dataProvider} liveProvider={createLiveProvider('/api', { fetch })} options={{ liveMode: 'auto' }}>
 */
export function createLiveProvider(baseUrl: string, options: LiveProviderOptions = {}): LiveProvider {
  const subscribe = createSubscribe(baseUrl, options)
  return {
    subscribe: ({ channel, types, params, callback }) => {
      const [, resource] = /^resources\/(.+)$/.exec(channel) ?? []
      if (resource === undefined) throw new Error(`unknown channel "${channel}"; channels: resources/<resource>`)
      return subscribe(`${resource}/`, ({ type, ids }) => {
        const isOfType = types.includes('*') || types.includes(type)
        // As with the live providers of Refine, `ids` does not restrict new records.
        const isOfRecord =
          type === 'created' ||
          params?.ids === undefined ||
          ids.some((id) => params.ids?.map(String).includes(String(id)))
        // Without ids, any record may have changed.
        if (ids.length > 0 && !(isOfType && isOfRecord)) return
        callback({ channel, type, payload: { ids: [...ids] }, date: new Date() })
      })
    },
    unsubscribe: (subscription) => subscription.close(),
  }
}
