import Router, { type RouterContext } from '@koa/router'
import type Koa from 'koa'
import type { Next } from 'koa'
import type { DataSource } from 'typeorm'
import { argon2id, buildAuthenticate } from './access/account'
import { type Rule, readOnlyRule } from './access/rule'
import { ApiError } from './errors'
import { handle, type Service } from './handle'
import { mountPoint, readPayload, send } from './koa'
import { buildAccountLookup } from './query/account-lookup'
import { limits, type PageLimits } from './request/limits'
import { answerFault, answerRefusal } from './response/answer'
import type { AccountSource } from './schema/account-source'
import { buildRegistry } from './schema/build-registry'
import type { ResourceRegistration, UserRegistration } from './schema/registration'
import type { Registry, Resource } from './schema/registry'

export interface MountOptions {
  /** Path before the resources' names. Default: `/api`. */
  readonly prefix?: string
  /** The rule of resources without their own. Default: `readOnlyRule()`. */
  readonly defaultAuth?: Rule
  /** Page sizes of lists. Default: `{ default: 20, max: 1000 }`. */
  readonly limit?: Partial<PageLimits>
  /** What `@UserAccount` says, for an entity that carries no decorator. */
  readonly users?: UserRegistration
  /** Entities that carry no `@Resource`, each with its options. */
  readonly resources?: readonly ResourceRegistration[]
}

/** One resource as it was mounted. */
export interface MountedResource {
  readonly name: string
  /** `/api/note/` */
  readonly path: string
  /** The properties of a record, in their order. */
  readonly fields: readonly string[]
  /** The title of its access rule. */
  readonly rule: string
  /** The field that holds the owner, with `ownerField`. */
  readonly owner?: string
}

/** What `mountResources` has mounted. */
export interface Mounted {
  readonly resources: readonly MountedResource[]
}

const optionNames = ['prefix', 'defaultAuth', 'limit', 'users', 'resources']

/**
 * Puts a REST service before the entities of a data source: everything that carries `@Resource`, and what `resources` names.
 * Paths that name no resource go on to the next middleware.
 * @throws {ConfigError} with all mistakes at once (D26)
 */
export function mountResources<State, Custom>(
  app: Koa<State, Custom>,
  dataSource: DataSource,
  options: MountOptions = {},
): Mounted {
  const faults = checkOptions(options)
  const { defaultAuth = readOnlyRule(), users, resources = [] } = options
  const prefix = (options.prefix ?? '/api').replace(/\/$/, '')
  const pageLimits = withDefaults(options.limit)
  const registry = buildRegistry(dataSource, { defaultAuth, users, resources }, faults)
  const service = buildService(dataSource, registry.accounts, pageLimits)
  app.use(buildRouter(prefix, registry, service).routes())
  return { resources: [...registry.resources.values()].map((resource) => describe(resource, prefix)) }
}

function buildService(dataSource: DataSource, accounts: AccountSource | undefined, pageLimits: PageLimits): Service {
  const hashing = accounts?.hashing ?? argon2id
  const authenticate =
    accounts === undefined
      ? async () => undefined
      : buildAuthenticate(buildAccountLookup(dataSource, accounts), hashing)
  return { dataSource, pageLimits, hashing, authenticate }
}

/** Two routes, whatever the number of resources. */
function buildRouter(prefix: string, registry: Registry, service: Service): Router {
  const router = new Router({ prefix, sensitive: true })
  router.all(['/:resource', '/:resource/:id'], async (context: RouterContext, next: Next) => {
    // As sent: `%73ecret` is not the resource `secret`.
    const [name = '', segment] = context.captures ?? []
    const resource = registry.resources.get(name)
    if (resource === undefined) return next()
    try {
      send(
        context,
        await handle(service, {
          resource,
          segment,
          method: context.method,
          querystring: context.querystring,
          authorization: context.headers.authorization,
          collection: `${mountPoint(context)}${prefix}/${name}/`,
          context,
          readPayload: () => readPayload(context),
        }),
      )
    } catch (error) {
      if (error instanceof ApiError) return send(context, answerRefusal(error))
      // What a rule of the application's own throws by `context.throw(403)` is for Koa to answer.
      if (error instanceof Error && 'expose' in error && error.expose === true) throw error
      context.app.emit('error', error, context)
      send(context, answerFault())
    }
  })
  return router
}

function describe(resource: Resource, prefix: string): MountedResource {
  const { name, record, rule, owner } = resource
  return {
    name,
    path: `${prefix}/${name}/`,
    fields: record.map((field) => field.name),
    rule: rule.title ?? (rule.name || 'custom'),
    ...(owner === undefined ? {} : { owner: owner.name }),
  }
}

function withDefaults({ max = 1000, default: size = Math.min(20, max) }: Partial<PageLimits> = {}): PageLimits {
  return { default: size, max }
}

function checkOptions(options: MountOptions): string[] {
  const faults: string[] = []
  for (const name of Object.keys(options)) {
    if (!optionNames.includes(name)) faults.push(`"${name}" is no option; options: ${optionNames.join(', ')}`)
  }
  if (options.prefix !== undefined && !/^(\/[\w.~-]+)*\/?$/.test(options.prefix)) {
    faults.push(`"prefix" must be a path as "/api", not ${JSON.stringify(options.prefix)}`)
  }
  const { default: size, max } = withDefaults(options.limit)
  const isRange = Number.isInteger(size) && Number.isInteger(max) && 1 <= size && size <= max && max <= limits.depth
  if (!isRange) {
    faults.push(
      `"limit" must be { default, max }, integers, 1 <= default <= max <= ${limits.depth}; it is { ${size}, ${max} }`,
    )
  }
  return faults
}
