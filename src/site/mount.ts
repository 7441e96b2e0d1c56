import type Koa from 'koa'
import type { DataSource, EntityTarget, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { buildBasicAuthenticator } from '../access/basic-authenticator'
import { argon2id } from '../access/password'
import { buildPasswordChecks } from '../access/password-checks'
import { ruleTitle } from '../access/require-principal'
import type { Principal } from '../access/rule'
import { openSession, renewConnectionQueues } from '../connection/db-session'
import { parseSettings } from '../connection/parse-settings'
import { warnAboutSettings } from '../connection/settings'
import { newStatementCache } from '../connection/statement-cache'
import { dialectOf } from '../dialect/dialect-of'
import { ConfigError } from '../errors'
import { buildProfiles } from '../pipeline/profiles'
import { buildServedResources, type Service, viewsOf } from '../pipeline/service'
import { Policies } from '../query/policies'
import { newQueryShapeCache } from '../query/query-shape'
import { buildAccountLookup } from '../read/account-lookup'
import { logMissingIndexes } from '../read/missing-indexes'
import { selectVisible } from '../read/visible'
import { buildCursorTokens } from '../request/cursor'
import { buildRegistry, checkDataSource } from '../schema/build-registry'
import type { PropertyPermissions } from '../schema/field-permissions'
import type { ResourceView, RowScope, WriteAction } from '../schema/resource-view'
import { lockSqlite } from '../sqlite-lock/install'
import { withPolicies } from '../write/write-store'
import { checkDatabaseOptions, checkOptions } from './check-options'
import { buildMiddleware } from './koa'
import { type MountOptions, type MountSettings, withDefaults } from './mount-options'
import { buildPages, requireNoPageNames } from './pages'

/** Description of a mounted resource. */
export interface MountedResource {
  readonly name: string
  /** Path of the collection: `/api/note/`. */
  readonly path: string
  /** Names of the members of a record, in their order. */
  readonly fields: readonly string[]
  /** Title of the access rule. */
  readonly rule: string
  /** Name of the field that holds the owner, if `ownerField` is set. */
  readonly owner?: string
  /** The row scope, if there is one: `filter`, or `through project` for `scope: { through: 'project' }`. */
  readonly scope?: string
  /** The writes that the option `may` restricts. */
  readonly may?: readonly WriteAction[]
  /**
   * The properties in the option `fields`, with the actions that are not permitted to everybody:
   * `{ hourlyRate: ['read', 'write'] }`.
   */
  readonly fieldPermissions?: { readonly [property: string]: readonly ('read' | 'write')[] }
  /**
   * Operations for which TypeORM entities are created, because there are listeners or subscribers or the entity is a
   * tree. These operations take longer.
   */
  readonly entities?: readonly ('load' | 'write')[]
}

/** Result of `mountResources`. */
export interface Mounted {
  /** Mounted resources; empty until the data source is initialized. */
  readonly resources: readonly MountedResource[]
  /**
   * Starts a query for the records of a resource that a principal may see, for routes of the application:
   * `mounted.visible(Task, principal).andWhere('task.done = :done', { done: false }).getMany()`.
   * @param alias alias of the entity in the query. Default: the name of the resource
   * @throws {TypeError} if the entity is not a resource of the mount
   */
  readonly visible: <Entity extends ObjectLiteral>(
    entity: EntityTarget<Entity>,
    principal: Principal,
    alias?: string,
  ) => SelectQueryBuilder<Entity>
}

/**
 * Mounts a REST service for the entities of a data source that have the decorator `@Resource` or are listed in the
 * option `resources`. A request whose path does not name a resource is passed to the next middleware. Until the data
 * source is initialized, requests to all paths that could name a resource are refused with 503.
 * @throws {ConfigError} with all mistakes (specification: Checks at mount). Mistakes that only an initialized data
 * source shows are thrown by its `initialize()`, which closes it again
 */
export function mountResources<State, Custom>(
  app: Koa<State, Custom>,
  dataSource: DataSource,
  options: MountOptions = {},
): Mounted {
  const { usable, mistakes: optionMistakes } = checkOptions(options)
  const unsupported = checkDataSource(dataSource)
  const mistakes = [...optionMistakes, ...(unsupported.length > 0 ? [] : checkDatabaseOptions(usable, dataSource))]
  const cannotScan = unsupported.length > 0 || !dataSource.isInitialized
  if (cannotScan && mistakes.length + unsupported.length > 0) throw new ConfigError([...mistakes, ...unsupported])
  const settings = withDefaults(usable)
  const { base, waitLimit, timeLimit, serverTiming, limits } = settings
  requireSameTimeLimit(dataSource, timeLimit)
  if (settings.sqliteLock) lockSqlite(dataSource, { waitLimit }, timeLimit)
  const session = openSession({ dataSource, waitLimit, timeLimit, statements: newStatementCache() })
  let service: Service | undefined
  const discard = (): void => {
    service = undefined
  }
  whenInitialized(dataSource, discard, () => {
    service = buildService(dataSource, settings, mistakes)
    dialectOf(dataSource).prepareConnections(dataSource.driver, timeLimit)
    renewConnectionQueues(session)
    logMissingIndexes(dataSource, viewsOf(service))
    // Only writes warnings to the log: the mount works without it.
    warnAboutSettings(session).catch(() => undefined)
  })
  const pages = buildPages(settings, session)
  const currentService = (): typeof service => (dataSource.isInitialized ? service : undefined)
  app.use(buildMiddleware({ base, session, service: currentService, pages, serverTiming, limits }))
  return {
    get resources() {
      return service === undefined ? [] : viewsOf(service).map((view) => describe(view, base))
    },
    visible: (entity, principal, alias) => {
      if (service === undefined) throw new Error('the data source is not initialized')
      const metadata = dataSource.getMetadata(entity)
      const served = [...service.resources.values()].find(({ fullView }) => fullView.metadata === metadata)
      if (served === undefined) throw new TypeError(`${metadata.name} is not a resource of this mount`)
      const policies = new Policies(principal, service.queryShapes, async () => true)
      return selectVisible(withPolicies(served.fullStore, policies), alias ?? served.fullView.name)
    },
  }
}

/** Time limit of each data source, in milliseconds: that of its first mount. */
const timeLimits = new WeakMap<DataSource, number>()

/**
 * Requires that all mounts of a data source have the same time limit, because its connections are prepared with it.
 * @throws {ConfigError}
 */
function requireSameTimeLimit(dataSource: DataSource, timeLimit: number): void {
  const firstLimit = timeLimits.get(dataSource) ?? timeLimit
  timeLimits.set(dataSource, firstLimit)
  if (firstLimit === timeLimit) return
  throw new ConfigError(['"statementTimeout" must be the same for all mounts of a data source'])
}

/**
 * Calls `build` each time that the data source is initialized, and at once if it already is. An error of `build` is
 * thrown by `initialize()`.
 * @param discard is called before the data source is initialized again
 */
function whenInitialized(dataSource: DataSource, discard: () => void, build: () => void): void {
  const initialize = dataSource.initialize.bind(dataSource)
  dataSource.initialize = async () => {
    // The old service refers to the old metadata, and the database may be in the middle of a migration.
    if (!dataSource.isInitialized) discard()
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
  const { limits, allowedOrigins, pagingSecret, forbidden, databaseSettings } = settings
  const registry = buildRegistry(dataSource, settings, mistakes)
  const { resources, accounts } = registry
  requireNoPageNames(settings, resources)
  const { concurrentPasswords, queuedPasswords } = limits
  const passwords = buildPasswordChecks(accounts?.hashing ?? argon2id, concurrentPasswords, queuedPasswords)
  const profiles = buildProfiles(registry, dataSource, databaseSettings !== undefined)
  return {
    resources: buildServedResources(profiles),
    profiles,
    limits,
    allowedOrigins,
    forbidden,
    authenticator: buildBasicAuthenticator(passwords, accounts && buildAccountLookup(accounts, dataSource)),
    passwords,
    cursorTokens: buildCursorTokens(pagingSecret),
    settingsFor: databaseSettings && ((principal) => parseSettings(databaseSettings(principal))),
    queryShapes: newQueryShapeCache(),
    hasPolicies: [...resources.values()].some(({ isGuarded, preset }) => isGuarded || preset !== undefined),
  }
}

function describe(view: ResourceView, base: string): MountedResource {
  const { name, outputFields, rule, owner, lifecycle, metadata, rowScope, fieldPermissions } = view
  const may = Object.keys(view.may) as readonly WriteAction[]
  const isWritten = lifecycle.write || metadata.treeType !== undefined
  const entities = [...(lifecycle.load ? ['load' as const] : []), ...(isWritten ? ['write' as const] : [])]
  return {
    name,
    path: `${base}/${name}/`,
    fields: outputFields.map((field) => field.name),
    rule: ruleTitle(rule),
    ...(owner === undefined ? {} : { owner: owner.name }),
    ...(rowScope === undefined ? {} : { scope: describeScope(rowScope) }),
    ...(may.length === 0 ? {} : { may }),
    ...(fieldPermissions.length === 0 ? {} : { fieldPermissions: describeFieldPermissions(fieldPermissions) }),
    ...(entities.length === 0 ? {} : { entities }),
  }
}

function describeFieldPermissions(
  permissions: ResourceView['fieldPermissions'],
): NonNullable<MountedResource['fieldPermissions']> {
  const restrictedActions = (permission: PropertyPermissions) =>
    (['read', 'write'] as const).filter((action) => permission[action] !== true)
  const entries = permissions.map((permission) => [permission.property, restrictedActions(permission)] as const)
  return Object.fromEntries(entries.filter(([, actions]) => actions.length > 0))
}

function describeScope(rowScope: RowScope): string {
  return rowScope.type === 'through' ? `through ${rowScope.relation.propertyPath}` : 'filter'
}
