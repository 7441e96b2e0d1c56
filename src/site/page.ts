import type { Context } from 'koa'
import type { DbSession } from '../connection/db-session'
import type { Service } from '../pipeline/service'
import type { ResponseMemory } from '../response/held-bytes'
import type { HttpResponse } from '../response/http-response'

/** Request for a page: a path of the mount that does not belong to a resource. */
export interface PageRequest {
  readonly context: Context
  readonly session: DbSession
  /** Undefined while the data source is not initialized. */
  readonly service: Service | undefined
  /** Path of the mount as the client sees it, including a prefix of `koa-mount` or Express: `/api`. */
  readonly root: string
  /** Memory of the response. It is created by the first call, because small responses are not counted. */
  readonly responseMemory: () => ResponseMemory
}

/** Handles a request for a page. */
export type PageHandler = (request: PageRequest) => Promise<HttpResponse>

/** Pages by their path below the mount, without a trailing slash: `/health`; empty for the mount itself. */
export type Pages = ReadonlyMap<string, PageHandler>

/** The pages that support a method. Those of GET support HEAD too. */
export interface PagesByMethod {
  readonly GET: Pages
  readonly POST: Pages
  readonly DELETE: Pages
}
