import type { DataSource, EntityMetadata } from 'typeorm'
import type { Rule } from '../access/rule'
import { ConfigError } from '../errors'
import type { AccountSource } from './account-source'
import { buildResource } from './build-resource'
import { collectAccounts, collectRegistrations, type ResourceRegistration, type UserRegistration } from './registration'
import type { Registry, Resource } from './registry'

/** What the registry is built from, besides the data source's metadata. */
export interface RegistryOptions {
  readonly defaultAuth: Rule
  readonly resources: readonly ResourceRegistration[]
  readonly users: UserRegistration | undefined
}

const supportedDatabases = ['better-sqlite3']

/**
 * Scans the data source's metadata once.
 * @param faults what the application got wrong elsewhere, reported together with what is found here
 * @throws {ConfigError} with every fault (D26)
 */
export function buildRegistry(
  dataSource: DataSource,
  options: RegistryOptions,
  faults: string[],
): Registry & { readonly accounts: AccountSource | undefined } {
  if (!dataSource.isInitialized) {
    throw new ConfigError([...faults, 'the data source is not initialized: await dataSource.initialize() first'])
  }
  if (!supportedDatabases.includes(dataSource.options.type)) {
    throw new ConfigError([
      ...faults,
      `the data source is of type ${dataSource.options.type}; supported: ${supportedDatabases.join(', ')}`,
    ])
  }
  const registrations = collectRegistrations(dataSource, options.resources, faults)
  const accounts = collectAccounts(dataSource, options.users, faults)
  if (registrations.length === 0 && faults.length === 0)
    faults.push('no entity of the data source is a resource: put @Resource() on one')

  const byEntity = new Map<EntityMetadata, Resource>()
  const context = { dataSource, defaultAuth: options.defaultAuth, accounts, byEntity, faults }
  const resources = new Map<string, Resource>()
  for (const registration of registrations) {
    const resource = buildResource(registration, context)
    if (resource === undefined) continue
    const other = resources.get(resource.name)
    if (other !== undefined) {
      faults.push(
        `${other.metadata.name} and ${resource.metadata.name} are both named "${resource.name}": give one a "name"`,
      )
    }
    resources.set(resource.name, resource)
    byEntity.set(resource.metadata, resource)
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return { dataSource, resources, accounts }
}
