import type Koa from 'koa'
import type { DataSource } from 'typeorm'
import { buildAuthenticate } from '../access/account'
import { argon2id } from '../access/password'
import { buildPasswordChecks } from '../access/password-checks'
import { ruleTitle } from '../access/require-principal'
import { type DbSession, renewConnectionQueues } from '../connection/db-session'
import { warnOfSettings } from '../connection/settings'
import { newStatementCache } from '../connection/statement-cache'
import { dialectOf } from '../dialect/dialect-of'
import { ConfigError } from '../errors'
import type { Service } from '../pipeline/service'
import { newQueryShapeCache } from '../query/query-shape'
import { buildAccountLookup } from '../read/account-lookup'
import { noteMissingIndexes } from '../read/missing-indexes'
import { buildCursorTokens } from '../request/cursor'
import { buildRegistry, checkDataSource } from '../schema/build-registry'
import type { Resource } from '../schema/registry'
import { lockSqlite } from '../sqlite-lock/install'
import { checkOptions } from './check-options'
import { buildMiddleware } from './koa'
import { type MountOptions, type MountSettings, withDefaults } from './mount-options'
import { buildPages, requireFreeNames } from './pages'

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
  /** What TypeORM's entities are made for, which takes longer: listeners and subscribers of loading or writing, a tree. */
  readonly entities?: readonly ('load' | 'write')[]
}

/** What `mountResources` has mounted. */
export interface Mounted {
  /** None until the data source is initialized. */
  readonly resources: readonly MountedResource[]
}

/**
 * Puts a REST service before the entities of a data source: everything that carries `@Resource`, and what `resources` names.
 * Paths that name no resource go on to the next middleware. Until the data source is initialized every path of that shape is 503.
 * @throws {ConfigError} with all mistakes at once (specification: Checks at mount); what can only be seen in an initialized data source is thrown by its
 * `initialize()`, which closes it again
 */
export function mountResources<State, Custom>(
  app: Koa<State, Custom>,
  dataSource: DataSource,
  options: MountOptions = {},
): Mounted {
  const { usable, mistakes } = checkOptions(options)
  const unsupported = checkDataSource(dataSource)
  const cannotScan = unsupported.length > 0 || !dataSource.isInitialized
  if (cannotScan && mistakes.length + unsupported.length > 0) throw new ConfigError([...mistakes, ...unsupported])
  const settings = withDefaults(usable)
  const { base, waitLimit, timeLimit, serverTiming, limits } = settings
  requireSameTimeLimit(dataSource, timeLimit)
  if (settings.sqliteLock) lockSqlite(dataSource, { waitLimit }, timeLimit)
  const session: DbSession = { dataSource, waitLimit, timeLimit, statements: newStatementCache() }
  let service: Service | undefined
  const forget = (): void => {
    service = undefined
  }
  whenInitialized(dataSource, forget, () => {
    service = buildService(dataSource, settings, mistakes)
    dialectOf(dataSource).prepareConnections(dataSource.driver, timeLimit)
    renewConnectionQueues(session)
    noteMissingIndexes(dataSource, service.resources.values())
    // Nothing depends on it.
    warnOfSettings(session).catch(() => undefined)
  })
  const pages = buildPages(settings, session)
  const current = (): typeof service => (dataSource.isInitialized ? service : undefined)
  app.use(buildMiddleware({ base, session, service: current, pages, serverTiming, limits }))
  return {
    get resources() {
      return [...(service?.resources.values() ?? [])].map((resource) => describe(resource, base))
    },
  }
}

const timeLimits = new WeakMap<DataSource, number>()

/** Connections are prepared for one time limit. @throws {ConfigError} for another mount with another one */
function requireSameTimeLimit(dataSource: DataSource, timeLimit: number): void {
  const known = timeLimits.get(dataSource) ?? timeLimit
  timeLimits.set(dataSource, known)
  if (known === timeLimit) return
  throw new ConfigError(['"statementTimeout" must be the same for all mounts of a data source'])
}

/** Now, where it is initialized, and each time that it will be; an error is then that of `initialize()`. */
function whenInitialized(dataSource: DataSource, forget: () => void, build: () => void): void {
  const initialize = dataSource.initialize.bind(dataSource)
  dataSource.initialize = async () => {
    // What was built is of the metadata of before, and the database may be in the middle of a migration.
    if (!dataSource.isInitialized) forget()
    await initialize()
    try {
      build()
    } catch (error) {
      await dataSource.destroy()
      throw error
    }
    return dataSource
  }
  if (dataSource.isInitialized) build()
}

function buildService(dataSource: DataSource, settings: MountSettings, mistakes: readonly string[]): Service {
  const { limits, allowedOrigins, pagingSecret } = settings
  const { resources, accounts } = buildRegistry(dataSource, settings, mistakes)
  requireFreeNames(settings, resources)
  const { concurrentPasswords, queuedPasswords } = limits
  const passwords = buildPasswordChecks(accounts?.hashing ?? argon2id, concurrentPasswords, queuedPasswords)
  const authenticate = buildAuthenticate(passwords, accounts && buildAccountLookup(accounts))
  const cursorTokens = buildCursorTokens(pagingSecret)
  return { resources, limits, allowedOrigins, authenticate, passwords, cursorTokens, queryShapes: newQueryShapeCache() }
}

function describe(resource: Resource, base: string): MountedResource {
  const { name, outputFields, rule, owner, lifecycle, metadata } = resource
  const isWritten = lifecycle.write || metadata.treeType !== undefined
  const entities = [...(lifecycle.load ? ['load' as const] : []), ...(isWritten ? ['write' as const] : [])]
  return {
    name,
    path: `${base}/${name}/`,
    fields: outputFields.map((field) => field.name),
    rule: ruleTitle(rule),
    ...(owner === undefined ? {} : { owner: owner.name }),
    ...(entities.length === 0 ? {} : { entities }),
  }
}
