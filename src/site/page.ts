import type { Context } from 'koa'
import type { Service } from '../pipeline/service'
import type { HttpResponse } from '../response/http-response'

/** What is read at a path that is no resource's. */
export interface PageRequest {
  readonly context: Context
  /** Undefined while the database is not connected. */
  readonly service: Service | undefined
  /** The path of the mount as the client knows it, `koa-mount`'s part with it: `/api`. */
  readonly root: string
}

/** Answers GET and HEAD at its path. */
export type PageHandler = (request: PageRequest) => Promise<HttpResponse>

/** By the path behind the mount's, without a slash at its end: `/health`; empty for the mount itself. */
export type Pages = ReadonlyMap<string, PageHandler>
