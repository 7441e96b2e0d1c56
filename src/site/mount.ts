import type Koa from 'koa'
import type { DataSource, EntityTarget, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import type { Principal } from '../access/rule'
import type { ChangeListener } from '../connection/change-events'
import { changeFeedOf } from '../connection/change-feed'
import { toLoggable } from '../connection/database-error'
import { type DbSession, openSession, renewConnectionQueues } from '../connection/db-session'
import { warnAboutSettings } from '../connection/settings-warnings'
import { newStatementCache, type StatementCache } from '../connection/statement-cache'
import { dialectOf } from '../dialect/dialect-of'
import { emitError } from '../emit-error'
import { ConfigError } from '../errors'
import { type Service, viewsOf } from '../pipeline/service'
import { logMissingIndexes } from '../read/missing-indexes'
import { warnAboutSearchIndexes } from '../read/search-index-warnings'
import { checkDataSource } from '../schema/build-registry'
import type { ResourceView } from '../schema/resource-view'
import { sharedByCopies } from '../shared-state'
import { allowReadsDuringTransactions, lockSqlite } from '../sqlite-lock/install'
import { buildAuditLog } from '../write/audit-log'
import { buildService } from './build-service'
import { ChangeListeners } from './change-listeners'
import { checkArguments } from './check-arguments'
import { checkDatabaseOptions, checkOptions } from './check-options'
import { trackConnections } from './connections'
import { buildMiddleware } from './koa'
import { closeWithDataSource, observeChanges } from './live'
import { type MountOptions, withDefaults } from './mount-options'
import { describeResource, type MountedResource } from './mounted-resource'
import { buildPages } from './pages'
import { type ResourceRouter, Routers, unknownResource } from './routers'
import { expectEntities, warnAboutUnusedResources } from './unused-resources'
import { visibleRecords } from './visible-records'

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
  /**
   * Returns the router for the custom actions of a resource, whose paths are relative to the collection:
   * `mounted.router('task').post('/:id/publish/', …)`. The access rule of the resource applies to them. They find
   * {@link ActionState} in `context.state`. `router.url('task', { id: 7 })` is the path of a record.
   * @param name name of the resource
   * @throws {TypeError} if there is no resource with this name. Before the data source is initialized, its `initialize()`
   * throws the error
   */
  readonly router: (name: string) => ResourceRouter
  /**
   * Adds a listener for the changes of records that requests of this mount have made, after their commit:
   * `mounted.on('change', ({ resource, action, id, principal, fields }) => …)`. An error of a listener is emitted as Koa's
   * `error` event and does not affect the response.
   * @returns a function that removes the listener
   */
  readonly on: (event: 'change', listener: ChangeListener) => () => void
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
  const settings = withDefaults(usable)
  const { base, waitLimit, timeLimit, serverTiming, limits } = settings
  const paths = mountedPaths(app, dataSource)
  const mistakes = [
    ...optionMistakes,
    ...(paths.has(base)
      ? [`the data source is mounted at ${base}/ already: remove this call, or set another "prefix"`]
      : []),
    ...(unsupported.length > 0 ? [] : checkDatabaseOptions(usable, dataSource)),
  ]
  const cannotScan = unsupported.length > 0 || !dataSource.isInitialized
  if (cannotScan && mistakes.length + unsupported.length > 0) throw new ConfigError([...mistakes, ...unsupported])
  requireSameTimeLimit(dataSource, timeLimit)
  if (settings.sqliteLock) lockSqlite(dataSource, { waitLimit }, timeLimit)
  const feed = changeFeedOf(dataSource)
  if (settings.live !== false) closeWithDataSource(feed)
  const report = (error: unknown): void => void emitError(app, toLoggable(error, dataSource))
  const listeners = new ChangeListeners(feed, report)
  const session: DbSession & { statements: StatementCache } = openSession({
    dataSource,
    waitLimit,
    timeLimit,
    statements: newStatementCache(),
    observer: listeners,
  })
  const routers = new Routers(base)
  let service: Service | undefined
  expectEntities(dataSource)
  const discard = (): void => {
    service = undefined
  }
  const views = (): readonly ResourceView[] => (service === undefined ? [] : viewsOf(service))
  whenInitialized(dataSource, discard, () => {
    // The metadata may be different now, such as the schema or the columns of a table. Requests of the old service keep its cache.
    session.statements = newStatementCache()
    listeners.auditLog = settings.audit && buildAuditLog(dataSource, settings.audit.entity, views)
    const current = buildService(session, settings, mistakes, report)
    routers.requireResources(current)
    service = current
    if (settings.live !== false) observeChanges(feed, settings.live, current)
    dialectOf(dataSource).prepareConnections(dataSource.driver, timeLimit)
    allowReadsDuringTransactions(dataSource, timeLimit)
    renewConnectionQueues(session)
    trackConnections(dataSource)
    logMissingIndexes(dataSource, viewsOf(current))
    warnAboutUnusedResources(dataSource)
    // These only write warnings to the log: the mount works without them.
    warnAboutSettings(session)
      .then(() => warnAboutSearchIndexes(session, viewsOf(current)))
      .catch(() => undefined)
  })
  const pages = buildPages(settings, session, routers)
  const challenges = settings.authenticators.map(({ challenge }) => challenge)
  const currentService = (): typeof service => (dataSource.isInitialized ? service : undefined)
  app.use(buildMiddleware({ base, session, service: currentService, routers, pages, serverTiming, limits, challenges }))
  paths.add(base)
  return {
    get resources() {
      return views().map((view) => describeResource(view, base))
    },
    visible: (entity, principal, alias) => {
      if (service === undefined) throw new Error('the data source is not initialized')
      const metadata = dataSource.getMetadata(entity)
      const served = [...service.resources.values()].find(({ fullView }) => fullView.metadata === metadata)
      if (served === undefined) throw new TypeError(`${metadata.name} is not a resource of this mount`)
      return visibleRecords(service, served, principal, alias)
    },
    on: (event, listener) => {
      if (event !== 'change') throw new TypeError(`there is no event "${event}"; events: change`)
      if (typeof listener !== 'function') throw new TypeError('the listener of "change" must be a function')
      return listeners.add(listener)
    },
    router: (name) => {
      if (service !== undefined && !service.resources.has(name)) {
        throw new TypeError(unknownResource(name, service.resources.keys()))
      }
      return routers.of(name)
    },
  }
}

const mounts = sharedByCopies('mountedPaths', () => new WeakMap<object, WeakMap<DataSource, Set<string>>>())

/**
 * The paths at which a data source is mounted on an application. Requests would never reach a second mount at the same
 * path, whose options might be more restrictive.
 */
function mountedPaths(app: object, dataSource: DataSource): Set<string> {
  const ofApp = mounts.get(app) ?? new WeakMap<DataSource, Set<string>>()
  const paths = ofApp.get(dataSource) ?? new Set<string>()
  mounts.set(app, ofApp.set(dataSource, paths))
  return paths
}

/** Time limit of each data source, in milliseconds: that of its first mount. */
const timeLimits = sharedByCopies('timeLimits', () => new WeakMap<DataSource, number>())

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
