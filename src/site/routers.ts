import Router from '@koa/router'
import type { DefaultContext } from 'koa'
import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import type { Principal } from '../access/rule'
import { ConfigError } from '../errors'
import type { Service } from '../pipeline/service'
import type { MountedResource } from './mounted-resource'

/** `context.state` in the middleware of a custom action. */
export interface ActionState {
  /** Principal that the access rule of the resource has returned for the request. */
  readonly principal: Principal
  /** The resource as the principal sees it: without the fields that the principal may not read. */
  readonly view: MountedResource
  /**
   * Starts a query for the records of the resource that the principal may see, like `mounted.visible`. In requests that are
   * not GET or HEAD, it reads from the primary, not from a replica.
   * @param alias alias of the entity in the query. Default: the name of the resource
   */
  readonly visible: <Entity extends ObjectLiteral>(alias?: string) => SelectQueryBuilder<Entity>
}

/** Router for the custom actions of a resource. Its paths are relative to the collection: `/:id/publish/`. */
export type ResourceRouter = Router<ActionState, DefaultContext>

/** A path of a resource that has custom actions. */
export interface CustomPath {
  /** Name of the resource. */
  readonly name: string
  readonly router: ResourceRouter
  /** The path, with a trailing slash. */
  readonly path: string
}

/** The routers of the resources of a mount, by the name of the resource. */
export class Routers {
  readonly #routers = new Map<string, ResourceRouter>()

  /** @param base path of the mount: `/api` */
  constructor(readonly base: string) {}

  /** The router of a resource. It is created by the first call. */
  of(name: string): ResourceRouter {
    const known = this.#routers.get(name)
    if (known !== undefined) return known
    const router = this.#create(name)
    this.#routers.set(name, router)
    return router
  }

  /** The custom actions for a path; undefined if its resource has none. @param path as the client sent it */
  at(path: string): CustomPath | undefined {
    if (this.#routers.size === 0 || !path.startsWith(`${this.base}/`)) return undefined
    const [name = ''] = path.slice(this.base.length + 1).split('/', 1)
    const router = this.#routers.get(name)
    if (router === undefined) return undefined
    // With a trailing slash, a path matches routes that are declared with one and those that are not.
    const sent = path.endsWith('/') ? path : `${path}/`
    if (!sent.includes('%')) return { name, router, path: sent }
    // A route for `/main/` must also respond to `/m%61in/`: the built-in action would decode the key.
    const start = this.base.length + name.length + 2
    const decoded = sent.slice(0, start) + sent.slice(start).split('/').map(decodeSegment).join('/')
    const countLayers = (one: string): number => router.match(one, 'GET').path.length
    return { name, router, path: countLayers(decoded) > countLayers(sent) ? decoded : sent }
  }

  /** The routes of a resource, in the order in which they were added. */
  routesOf(name: string): ResourceRouter['stack'] {
    return this.#routers.get(name)?.stack ?? []
  }

  /** The number of all routes. It changes when a route is added, and is part of the cache key of the OpenAPI document. */
  get count(): number {
    return [...this.#routers.values()].reduce((sum, { stack }) => sum + stack.length, 0)
  }

  /** @throws {ConfigError} if there is a router for a name that no resource has */
  requireResources({ resources }: Service): void {
    const unknown = [...this.#routers.keys()].filter((name) => !resources.has(name))
    if (unknown.length === 0) return
    throw new ConfigError(unknown.map((name) => unknownResource(name, resources.keys())))
  }

  /**
   * Creates a router that can also build the paths of the built-in actions: `router.url('task', { id: 7 })`. These paths are
   * not among its routes, because the service handles requests on them itself.
   */
  #create(name: string): ResourceRouter {
    const prefix = `${this.base}/${name}`
    const builtIn: ResourceRouter = new Router()
    builtIn.register(`${prefix}/`, [], [], { name: `${name}-list` })
    builtIn.register(`${prefix}/:id/`, [], [], { name })
    const router: ResourceRouter = new Router({ prefix, sensitive: true })
    const own = router.route.bind(router)
    router.route = (route) => own(route) || builtIn.route(route)
    const url = router.url.bind(router)
    router.url = (route, ...others) => {
      const path = url(route, ...others)
      if (typeof path === 'string') return path
      // The router of @koa/router returns an error, whose text a redirect would send to the client.
      const routes = [...builtIn.stack, ...router.stack].flatMap((layer) => layer.name ?? [])
      throw new TypeError(`router('${name}').url(): no route has the name "${route}"; names: ${routes.join(', ')}`)
    }
    const register = router.register.bind(router)
    router.register = (path, methods, ...others) => {
      // Only `use` registers a path without methods.
      if (methods.length > 0 && typeof path === 'string') requireRelative(path, prefix)
      return register(path, methods, ...others)
    }
    return router
  }
}

/**
 * Requires that the path of a route begins with a slash and is relative, because the router appends it to the path of the
 * resource without changes.
 * @throws {TypeError}
 */
function requireRelative(path: string, prefix: string): void {
  if (path.startsWith('/') && !path.startsWith(`${prefix}/`)) return
  throw new TypeError(
    `the path "${path}" must begin with a slash and be relative to ${prefix}, such as "/:id/publish/"`,
  )
}

/** Message for the name of a router that is not the name of a resource. */
export function unknownResource(name: string, resources: Iterable<string>): string {
  return `router('${name}'): there is no resource "${name}"; resources: ${[...resources].join(', ')}`
}

/** Decodes a segment of a path; unchanged if it is not valid, or if it would become several segments. */
function decodeSegment(segment: string): string {
  try {
    const decoded = decodeURIComponent(segment)
    return decoded.includes('/') ? segment : decoded
  } catch {
    return segment
  }
}
