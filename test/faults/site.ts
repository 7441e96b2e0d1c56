import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { type MountOptions, mountResources } from 'typeorm-resources'
import { entities, subscribers } from './entities'

/** The site of these tests, in this process. */
export interface Site {
  readonly url: string
  readonly dataSource: DataSource
  readonly server: Server
  /** Errors that reached Koa's `error` event. */
  readonly faults: readonly unknown[]
  readonly close: () => Promise<void>
}

/** Which database, and the options of its data source that differ. */
export type SourceOptions = Readonly<Record<string, unknown>> & { readonly type: string }

export interface SiteOptions {
  readonly source: SourceOptions
  readonly mount?: MountOptions
  /** Middleware of the application, before ours. */
  readonly before?: (app: Koa) => void
}

/** A data source of the site's entities, not yet initialized. */
export function createSource(source: SourceOptions): DataSource {
  // TypeORM's own type has one member for each driver, and its two lines have not the same.
  return new DataSource({ entities, subscribers, synchronize: true, ...source } as object as DataSourceOptions)
}

/** Opens a site whose data source is up. The caller closes it. */
export async function openSite(options: SiteOptions): Promise<Site> {
  const dataSource = await createSource(options.source).initialize()
  return serveSite(dataSource, options)
}

/** Opens a site on a data source as it is. */
export async function serveSite(dataSource: DataSource, { mount, before }: Omit<SiteOptions, 'source'>): Promise<Site> {
  const app = new Koa()
  const faults: unknown[] = []
  app.on('error', (error) => faults.push(error))
  before?.(app)
  mountResources(app, dataSource, mount)
  const server = createServer(app.callback())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    dataSource,
    server,
    faults,
    close: async () => {
      await new Promise((resolve) => server.close(resolve))
      if (dataSource.isInitialized) await dataSource.destroy()
    },
  }
}
