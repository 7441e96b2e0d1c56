import type { DataSource } from 'typeorm'
import { decoratedClasses } from '../resource'
import { sharedByCopies } from '../shared-state'

/**
 * Time between the start of a service and the warning, in milliseconds. An application with several data sources may
 * connect to one after another.
 */
const warningDelayMs = 2000

/** What all mounts of the process have. */
interface Mounted {
  /** Classes that are entities of a data source with a mount. */
  readonly mountedClasses: WeakSet<object>
  /** Data sources with a mount whose entities are not known, because they are not initialized. */
  readonly unknownDataSources: Set<DataSource>
  readonly reportedClasses: WeakSet<object>
}

const { mountedClasses, unknownDataSources, reportedClasses } = sharedByCopies<Mounted>('mountedClasses', () => ({
  mountedClasses: new WeakSet(),
  unknownDataSources: new Set(),
  reportedClasses: new WeakSet(),
}))

/** Notes that a data source has a mount, and may have any entities until it is initialized. */
export function expectEntities(dataSource: DataSource): void {
  if (!dataSource.isInitialized) unknownDataSources.add(dataSource)
}

/**
 * Logs a warning for each class with `@Resource` that no data source with a mount has as an entity. Requests for such a
 * resource would be 404 without a reason that the developer can see.
 * @param dataSource initialized, with a mount
 */
export function warnAboutUnusedResources(dataSource: DataSource): void {
  unknownDataSources.delete(dataSource)
  for (const { target } of dataSource.entityMetadatas) if (typeof target === 'function') mountedClasses.add(target)
  const warn = (): void => {
    if (unknownDataSources.size > 0 || !dataSource.isInitialized) return
    for (const entity of decoratedClasses()) {
      if (mountedClasses.has(entity) || reportedClasses.has(entity)) continue
      reportedClasses.add(entity)
      const { name } = entity as { readonly name: string }
      dataSource.logger.log('warn', `typeorm-resources: ${unused(name)}`)
    }
  }
  setTimeout(warn, warningDelayMs).unref()
}

function unused(name: string): string {
  return `${name} has @Resource, but no mounted data source has it as an entity: add ${name} to "entities", with @Entity()`
}
