import type { DataSource } from 'typeorm'
import { ConfigError } from '../errors'
import { renderOpenApi } from '../openapi/document'
import { buildRegistry, checkDataSource } from '../schema/build-registry'
import { checkOptions } from './check-options'
import { type MountOptions, withDefaults } from './mount-options'
import { requireNoPageNames } from './pages'

/**
 * Renders the OpenAPI document that a mount with these options would serve. It uses only the metadata of the data
 * source, which does not need to be connected.
 * @throws {ConfigError} with all mistakes at once
 */
export async function describeDataSource(dataSource: DataSource, options: MountOptions): Promise<string> {
  const { usable, mistakes } = checkOptions(options)
  const unsupported = checkDataSource(dataSource)
  if (unsupported.length > 0) throw new ConfigError([...mistakes, ...unsupported])
  if (!dataSource.isInitialized) await buildMetadata(dataSource)
  const settings = withDefaults(usable)
  const { resources } = buildRegistry(dataSource, settings, mistakes)
  requireNoPageNames(settings, resources)
  return renderOpenApi({ ...settings, resources: resources.values() })(settings.base)
}

/** Builds the metadata by the protected method that `DataSource.initialize()` calls after it has connected. */
async function buildMetadata(dataSource: DataSource): Promise<void> {
  const { buildMetadatas } = dataSource as unknown as { readonly buildMetadatas: () => Promise<void> }
  await buildMetadatas.call(dataSource)
}
