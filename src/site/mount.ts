import type Koa from 'koa'
import type { DataSource, EntityTarget, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import type { Principal } from '../access/rule'
import { openSession, renewConnectionQueues } from '../connection/db-session'
import { warnAboutSettings } from '../connection/settings-warnings'
import { newStatementCache } from '../connection/statement-cache'
import { dialectOf } from '../dialect/dialect-of'
import { ConfigError } from '../errors'
import { type Service, viewsOf } from '../pipeline/service'
import { Policies } from '../query/policies'
import { logMissingIndexes } from '../read/missing-indexes'
import { warnAboutSearchIndexes } from '../read/search-index-warnings'
import { selectVisible } from '../read/visible'
import { checkDataSource } from '../schema/build-registry'
import { lockSqlite } from '../sqlite-lock/install'
import { withPolicies } from '../write/write-store'
import { buildService } from './build-service'
import { checkArguments } from './check-arguments'
import { checkDatabaseOptions, checkOptions } from './check-options'
import { buildMiddleware } from './koa'
import { type MountOptions, withDefaults } from './mount-options'
import { describeResource, type MountedResource } from './mounted-resource'
import { buildPages } from './pages'

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
 * @throws {TypeError} for arguments that are not a Koa application and a data source
 */
export function mountResources<State, Custom>(
  app: Koa<State, Custom>,
  dataSource: DataSource,
  options: MountOptions = {},
): Mounted {
  checkArguments(app, dataSource)
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
    const current = buildService(session, settings, mistakes)
    service = current
    dialectOf(dataSource).prepareConnections(dataSource.driver, timeLimit)
    renewConnectionQueues(session)
    logMissingIndexes(dataSource, viewsOf(current))
    // These only write warnings to the log: the mount works without them.
    warnAboutSettings(session)
      .then(() => warnAboutSearchIndexes(session, viewsOf(current)))
      .catch(() => undefined)
  })
  const pages = buildPages(settings, session)
  const challenges = settings.authenticators.map(({ challenge }) => challenge)
  const currentService = (): typeof service => (dataSource.isInitialized ? service : undefined)
  app.use(buildMiddleware({ base, session, service: currentService, pages, serverTiming, limits, challenges }))
  return {
    get resources() {
      return service === undefined ? [] : viewsOf(service).map((view) => describeResource(view, base))
    },
    visible: (entity, principal, alias) => {
      if (service === undefined) throw new Error('the data source is not initialized')
      const metadata = dataSource.getMetadata(entity)
      const served = [...service.resources.values()].find(({ fullView }) => fullView.metadata === metadata)
      if (served === undefined) throw new TypeError(`${metadata.name} is not a resource of this mount`)
      const policies = new Policies(principal, service.queryShapes)
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
