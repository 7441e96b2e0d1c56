import type { Context, Middleware } from 'koa'
import { channels } from '../diagnostics'
import { unavailable } from '../errors'
import type { ResourceRequest, Service } from '../pipeline/service'
import type { Session } from '../query/connection'
import { answerHealthy, answerRefusal } from '../response/answer'
import { answer, send } from './answer'
import type { Health } from './health'
import { readPayload } from './payload'

/** What is mounted. */
export interface Site {
  /** `/api` */
  readonly base: string
  readonly session: Session
  /** What the database has been scanned for; undefined until the data source is initialized. */
  readonly service: () => Service | undefined
  /** Whether the database answers; undefined where nobody may ask. */
  readonly health: (() => Promise<Health>) | undefined
  readonly serverTiming: boolean
}

/**
 * One route for all resources: `/api/<resource>/` and `/api/<resource>/<id>/`, with and without the last slash (D1). The path
 * is taken as it was sent: `%73ecret` is not the resource `secret`. What is not ours is left untouched for the next.
 */
export function buildMiddleware(site: Site): Middleware {
  const { base } = site
  const ours = new RegExp(`^${base.replaceAll('.', '\\.')}/([^/]+)(?:/([^/]+))?/?$`)
  return async (context, next) => {
    const target = targetOf(context)
    const query = target.indexOf('?')
    const [path, name = '', segment] = ours.exec(query < 0 ? target : target.slice(0, query)) ?? []
    if (path === undefined) return next()
    if (name === 'health' && segment === undefined && site.health && isGet(context)) {
      const health = site.service() === undefined ? 'fail' : await site.health()
      const isWell = health !== 'fail'
      return send(context, isWell ? answerHealthy(health) : answerRefusal(unavailable('the database does not answer')))
    }
    const service = site.service()
    if (service === undefined) return send(context, answerRefusal(unavailable('the database is not connected')))
    const resource = service.resources.get(name)
    if (resource === undefined) return next()
    const request: ResourceRequest = {
      resource,
      segment,
      collection: `${mountPoint(context)}${base}/${name}/`,
      session: sessionOf(site, name),
      method: context.method,
      querystring: query < 0 ? '' : target.slice(query + 1),
      headers: context.headers,
      context,
      readPayload: (limit) => readPayload(context, limit),
    }
    await answer(service, request, site.serverTiming)
  }
}

function sessionOf({ session, serverTiming }: Site, resource: string): Session {
  const isTraced = serverTiming || channels.request.hasSubscribers || channels.statement.hasSubscribers
  return isTraced ? { ...session, trace: { resource, statements: 0, rows: 0, milliseconds: 0 } } : session
}

function isGet({ method }: Context): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * Path and query as they were sent. Koa's own path is tidied by `url.parse`, which takes a backslash for `/` where a `#` stands in
 * the target, and throws for some: such a target has no canonical form (RFC 9112, request target).
 */
function targetOf({ url, originalUrl }: Context): string {
  return /^[^?]*\\|#/.test(originalUrl) ? '' : withoutOrigin(url)
}

/** The part of the path that the application has taken off before us, as `koa-mount` does. */
function mountPoint({ originalUrl, url }: Context): string {
  if (originalUrl === url) return ''
  const [whole, rest] = [withoutOrigin(originalUrl), withoutOrigin(url)]
  return whole.endsWith(rest) ? whole.slice(0, whole.length - rest.length) : ''
}

/** A request target in absolute form names scheme and host too. */
function withoutOrigin(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
}
