import type Koa from 'koa'
import type { DataSource } from 'typeorm'
import { argon2id, buildAuthenticate } from './access/account'
import { ruleTitle } from './access/require-principal'
import { type Rule, readOnlyRule } from './access/rule'
import type { Service } from './actions'
import { buildMiddleware } from './koa'
import { buildAccountLookup } from './query/account-lookup'
import { limits, type PageLimits } from './request/limits'
import type { AccountSource } from './schema/account-source'
import { buildRegistry } from './schema/build-registry'
import { checkOptionNames, type ResourceRegistration, type UserRegistration } from './schema/registration'
import type { Resource } from './schema/registry'

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

const optionNames: Readonly<Record<keyof MountOptions, true>> = {
  prefix: true,
  defaultAuth: true,
  limit: true,
  users: true,
  resources: true,
}

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
  const { prefix = '/api', defaultAuth = readOnlyRule(), limit, users, resources = [] } = options
  const pageLimits = withDefaults(limit)
  const mistakes = checkOptions(options, prefix, pageLimits)
  const registry = buildRegistry(dataSource, { defaultAuth, users, resources }, mistakes)
  const base = prefix.replace(/\/$/, '')
  const { resources: mounted, accounts } = registry
  app.use(buildMiddleware(base, registry, buildService(dataSource, accounts, pageLimits)))
  return { resources: [...mounted.values()].map((resource) => describe(resource, base)) }
}

function withDefaults({ max = 1000, default: size = Math.min(20, max) }: Partial<PageLimits> = {}): PageLimits {
  return { default: size, max }
}

function checkOptions(options: MountOptions, prefix: string, { default: size, max }: PageLimits): readonly string[] {
  const mistakes: string[] = []
  checkOptionNames(options, optionNames, (mistake) => mistakes.push(mistake))
  if (!/^(\/[\w.~-]+)*\/?$/.test(prefix)) {
    mistakes.push(`"prefix" must be a path as "/api", not ${JSON.stringify(prefix)}`)
  }
  const isRange = Number.isInteger(size) && Number.isInteger(max) && 1 <= size && size <= max && max <= limits.depth
  const hasOthers = Object.keys(Object(options.limit)).some((name) => name !== 'default' && name !== 'max')
  if (!isRange || hasOthers || typeof (options.limit ?? {}) !== 'object') {
    const given = JSON.stringify(options.limit)
    mistakes.push(
      `"limit" must be { default, max } with integers, 1 <= default <= max <= ${limits.depth}, not ${given}`,
    )
  }
  return mistakes
}

function buildService(dataSource: DataSource, accounts: AccountSource | undefined, pageLimits: PageLimits): Service {
  const hashing = accounts?.hashing ?? argon2id
  const authenticate =
    accounts === undefined
      ? async () => undefined
      : buildAuthenticate(buildAccountLookup(dataSource, accounts), hashing)
  return { dataSource, pageLimits, hashing, authenticate }
}

function describe(resource: Resource, base: string): MountedResource {
  const { name, record, rule, owner } = resource
  return {
    name,
    path: `${base}/${name}/`,
    fields: record.map((field) => field.name),
    rule: ruleTitle(rule),
    ...(owner === undefined ? {} : { owner: owner.name }),
  }
}
