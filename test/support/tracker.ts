import { Agent } from 'node:http'
import { mountResources } from 'typeorm-resources'
import { addActions } from '../../sample/tracker/actions'
import { login } from '../../sample/tracker/login'
import { trackerOptions } from '../../sample/tracker/options'
import { people, seedTracker, trackerEntities } from '../../sample/tracker/seed'
import { type Reply, type SendOptions, send } from '../client'
import { openWorld, type World, type WorldOptions } from '../world/world'

export { people }

/** User name of the person who sends a request; undefined for a request without credentials. */
export type Who = (typeof people)[number] | undefined

/** The tracker of the sample on a database of its own. */
export interface Tracker {
  readonly world: World
  /** The API key of bob, which can read projects, and read and create entries. */
  readonly key: string
  /** Sends a request. Paths are relative to `/api/`: `GET task/?title=Draw`. */
  readonly as: (who: Who, line: string, options?: SendOptions) => Promise<Reply>
  /** The ids of the records in a list; throws for any status but 200. */
  readonly idsOf: (who: Who, path: string) => Promise<readonly number[]>
  /** All rows of the tracker's tables, without those of join tables. */
  readonly rows: () => Promise<unknown>
  readonly close: () => Promise<void>
}

export async function openTracker(options: Pick<WorldOptions, 'before'> = {}): Promise<Tracker> {
  let key = ''
  const world = await openWorld({
    entities: trackerEntities,
    seed: async (dataSource) => {
      key = await seedTracker(dataSource)
    },
    mountOn: (app, dataSource) => {
      app.use(login(dataSource))
      const mounted = mountResources(app, dataSource, trackerOptions)
      addActions(mounted, dataSource)
      return mounted
    },
    ...options,
  })
  const agent = new Agent({ keepAlive: true })
  const as: Tracker['as'] = (who, line, more = {}) =>
    send(world.url, line.replace(' ', ' /api/'), { as: who, agent, ...more })
  return {
    world,
    key,
    as,
    idsOf: async (who, path) => {
      const reply = await as(who, `GET ${path}`)
      if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${reply.text}`)
      return (reply.json() as { readonly objects: readonly { readonly id: number }[] }).objects.map(({ id }) => id)
    },
    rows: () =>
      Promise.all(trackerEntities.map(({ name }) => world.sql(`SELECT * FROM "${name.toLowerCase()}" ORDER BY "id"`))),
    close: async () => {
      agent.destroy()
      await world.close()
    },
  }
}
