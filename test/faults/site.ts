import { createServer, type Server } from 'node:http'
import Koa from 'koa'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { type Mounted, type MountOptions, mountResources } from 'typeorm-resources'
import { listen } from '../support/listen'
import { entities, subscribers } from './entities'

/** A site with the entities of `entities.ts`, in this process. */
export interface Site {
  readonly url: string
  readonly dataSource: DataSource
  readonly mounted: Mounted
  readonly server: Server
  /** Errors that reached Koa's `error` event. */
  readonly faults: readonly unknown[]
  readonly close: () => Promise<void>
}

/** Options of the data source: type and connection. */
export type SourceOptions = Readonly<Record<string, unknown>> & { readonly type: string }

/** Options of a site. */
export interface SiteOptions {
  readonly source: SourceOptions
  readonly mount?: MountOptions
  /** Middleware before the service. */
  readonly before?: (app: Koa) => void
}

/** Creates a data source with the entities of the site, which is not yet initialized. */
export function createSource(source: SourceOptions): DataSource {
  // TypeORM's type is a union of the drivers' options, which differs between the versions of TypeORM.
  return new DataSource({ entities, subscribers, synchronize: true, ...source } as object as DataSourceOptions)
}

/** Initializes a data source and opens a site with it. The caller closes it. */
export async function openSite(options: SiteOptions): Promise<Site> {
  const dataSource = await createSource(options.source).initialize()
  return serveSite(dataSource, options)
}

/** Opens a site with a data source that the caller has or has not initialized. */
export async function serveSite(dataSource: DataSource, { mount, before }: Omit<SiteOptions, 'source'>): Promise<Site> {
  const app = new Koa()
  const faults: unknown[] = []
  app.on('error', (error) => faults.push(error))
  before?.(app)
  const mounted = mountResources(app, dataSource, mount)
  const server = createServer(app.callback())
  return {
    url: await listen(server),
    dataSource,
    mounted,
    server,
    faults,
    close: async () => {
      await new Promise((resolve) => server.close(resolve))
      if (dataSource.isInitialized) await dataSource.destroy()
    },
  }
}
