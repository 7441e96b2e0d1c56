import type { DataSource, EntityMetadata } from 'typeorm'
import type { Rule } from '../access/rule'
import { ConfigError } from '../errors'
import { buildResource } from './build-resource'
import { checkRowScopes } from './build-row-scope'
import { checkRule, checkUserEntity } from './build-rule'
import { supportedDatabases } from './column-value-type'
import { allFilterNames } from './filter-names'
import { collectAccounts, collectRegistrations, type ResourceRegistration, type UserRegistration } from './registration'
import type { Registry, ResourceView } from './resource-view'

/** The options of a mount that the registry depends on. */
export interface RegistryOptions {
  readonly defaultAuth: Rule
  readonly resources: readonly ResourceRegistration[]
  readonly users: UserRegistration | undefined
  /** Whether every resource must have the option `scope`. */
  readonly requireScope: boolean
  /** Whether the access rule of every resource must permit reading it through relations. */
  readonly strictRelations: boolean
  /** Rule for reading the OpenAPI document; false if it is not served. */
  readonly openapi: Rule | false
}

/**
 * Builds the registry from the data source's metadata and the options.
 * @param mistakes mistakes found in other checks, to be reported in the same error
 * @throws {ConfigError} with all mistakes (specification: Checks at mount)
 */
export function buildRegistry(
  dataSource: DataSource,
  { defaultAuth, resources: resourceOptions, users, openapi, requireScope, strictRelations }: RegistryOptions,
  mistakes: readonly string[],
): Registry {
  const allMistakes = [...mistakes]
  const report = (mistake: string): void => void allMistakes.push(mistake)
  checkRule('defaultAuth', defaultAuth, report)
  const registrations = collectRegistrations(dataSource, resourceOptions, report)
  const mistakesBefore = allMistakes.length
  const accounts = collectAccounts(dataSource, users, report)
  const hasUsers = accounts !== undefined || allMistakes.length > mistakesBefore
  if (openapi !== false && checkRule('openapi', openapi, report)) {
    checkUserEntity(openapi, { accounts, hasUsers }, (mistake) => report(`"openapi": ${mistake}`))
  }
  if (registrations.length === 0 && allMistakes.length === 0) {
    report('no entity of the data source is a resource: put @Resource() on one')
  }
  const byEntity = new Map<EntityMetadata, ResourceView>()
  const context = { dataSource, defaultAuth, accounts, hasUsers, registrations, strictRelations, byEntity }
  const allNames = allFilterNames(context)
  const resources = new Map<string, ResourceView>()
  for (const registration of registrations) {
    const { metadata } = registration
    const reportHere = (mistake: string): void => report(`${metadata.name}: ${mistake}`)
    const resource = buildResource(registration, context, allNames, reportHere)
    if (requireScope && registration.options.scope === undefined) {
      reportHere(
        '"requireScope" is set, but the resource has no "scope"; if everybody may see its records, set scope: "all"',
      )
    }
    if (resource === undefined) continue
    const other = resources.get(resource.name)
    if (other !== undefined) {
      report(`${other.metadata.name} and ${metadata.name} are both named "${resource.name}": give one a "name"`)
    }
    resources.set(resource.name, resource)
    byEntity.set(metadata, resource)
  }
  checkRowScopes([...byEntity.values()], report)
  if (allMistakes.length > 0) throw new ConfigError(allMistakes)
  return { resources, accounts }
}

/**
 * Checks the type and the driver of a data source.
 * @returns the mistakes; empty for a data source that can be mounted
 */
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
