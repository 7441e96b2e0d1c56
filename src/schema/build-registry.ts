import type { DataSource, EntityMetadata } from 'typeorm'
import type { Rule } from '../access/rule'
import { ConfigError } from '../errors'
import { buildResource } from './build-resource'
import { checkNeeds, checkRule } from './build-rule'
import { supportedDatabases } from './column-value-type'
import { collectAccounts, collectRegistrations, type ResourceRegistration, type UserRegistration } from './registration'
import type { Registry, Resource } from './registry'

/** What the registry is built from, besides the data source's metadata. */
export interface RegistryOptions {
  readonly defaultAuth: Rule
  readonly resources: readonly ResourceRegistration[]
  readonly users: UserRegistration | undefined
  /** Who may read the description; false for nobody. */
  readonly openapi: Rule | false
}

/**
 * Scans the data source's metadata once.
 * @param mistakes what is wrong elsewhere, to be reported together with what is found here
 * @throws {ConfigError} with every mistake (specification: Checks at mount)
 */
export function buildRegistry(
  dataSource: DataSource,
  { defaultAuth, resources: named, users, openapi }: RegistryOptions,
  mistakes: readonly string[],
): Registry {
  const found = [...mistakes]
  const report = (mistake: string): void => void found.push(mistake)
  checkRule('defaultAuth', defaultAuth, report)
  const registrations = collectRegistrations(dataSource, named, report)
  const before = found.length
  const accounts = collectAccounts(dataSource, users, report)
  const hasUsers = accounts !== undefined || found.length > before
  if (openapi !== false && checkRule('openapi', openapi, report)) {
    checkNeeds(openapi, { accounts, hasUsers }, (mistake) => report(`"openapi": ${mistake}`))
  }
  if (registrations.length === 0 && found.length === 0) {
    report('no entity of the data source is a resource: put @Resource() on one')
  }
  const byEntity = new Map<EntityMetadata, Resource>()
  const context = { dataSource, defaultAuth, accounts, hasUsers, registrations, byEntity }
  const resources = new Map<string, Resource>()
  for (const registration of registrations) {
    const { metadata } = registration
    const resource = buildResource(registration, context, (mistake) => report(`${metadata.name}: ${mistake}`))
    if (resource === undefined) continue
    const other = resources.get(resource.name)
    if (other !== undefined) {
      report(`${other.metadata.name} and ${metadata.name} are both named "${resource.name}": give one a "name"`)
    }
    resources.set(resource.name, resource)
    byEntity.set(metadata, resource)
  }
  if (found.length > 0) throw new ConfigError(found)
  return { resources, accounts }
}

/** Whether a data source is one that can be mounted. */
export function checkDataSource({ options: { type }, driver }: DataSource): readonly string[] {
  if (!supportedDatabases.includes(type)) {
    return [`the data source is of type ${type}; supported: ${supportedDatabases.join(', ')}`]
  }
  const { mysql } = driver as unknown as { readonly mysql?: { readonly Connection?: { prototype?: object } } }
  if (mysql === undefined || 'execute' in Object(mysql.Connection?.prototype)) return []
  return [
    'the data source uses the package mysql, which has no prepared statements and writes values into SQL: run ' +
      '"npm install mysql2" and set connectorPackage: "mysql2" in the options of the data source',
  ]
}
