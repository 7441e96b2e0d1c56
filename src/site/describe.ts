import type { DataSource } from 'typeorm'
import { ConfigError } from '../errors'
import { describedResource } from '../openapi/described-resource'
import { renderOpenApi } from '../openapi/document'
import { checkConstant } from '../query/policy-function'
import { buildRegistry, checkDataSource } from '../schema/build-registry'
import type { ResourceView } from '../schema/resource-view'
import { renderAccessTable } from './access-table'
import { checkOptions } from './check-options'
import { type MountOptions, type MountSettings, withDefaults } from './mount-options'
import { requireNoPageNames } from './pages'

/**
 * Renders the OpenAPI document that a mount with these options would serve. It uses only the metadata of the data
 * source, which does not need to be connected.
 * @throws {ConfigError} with all mistakes at once
 */
export async function describeDataSource(dataSource: DataSource, options: MountOptions): Promise<string> {
  const { settings, views } = await scan(dataSource, options)
  const resources = views.map((view) => describedResource(view))
  const bytesAt = await renderOpenApi({ ...settings, dataSource, resources })
  return bytesAt(settings.base).toString()
}

/**
 * Renders the table of who may do what in a mount with these options, without connecting.
 * @throws {ConfigError} with all mistakes at once
 */
export async function describeAccess(dataSource: DataSource, options: MountOptions): Promise<string> {
  return renderAccessTable((await scan(dataSource, options)).views)
}

/** The resources that a mount with these options would have. @throws {ConfigError} with all mistakes at once */
async function scan(
  dataSource: DataSource,
  options: MountOptions,
): Promise<{ readonly settings: MountSettings; readonly views: readonly ResourceView[] }> {
  const { usable, mistakes } = checkOptions(options)
  const unsupported = checkDataSource(dataSource)
  if (unsupported.length > 0) throw new ConfigError([...mistakes, ...unsupported])
  if (!dataSource.isInitialized) await buildMetadata(dataSource)
  const settings = withDefaults(usable)
  const { resources } = buildRegistry(dataSource, settings, mistakes, checkConstant)
  requireNoPageNames(settings, resources)
  return { settings, views: [...resources.values()] }
}

/** Builds the metadata by the protected method that `DataSource.initialize()` calls after it has connected. */
async function buildMetadata(dataSource: DataSource): Promise<void> {
  const { buildMetadatas } = dataSource as unknown as { readonly buildMetadatas: () => Promise<void> }
  await buildMetadatas.call(dataSource)
}
