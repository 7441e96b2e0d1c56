import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm'
import type { Authenticator, MountedEntities } from '../access/authenticator'
import type { Rule } from '../access/rule'
import { ConfigError, type Report } from '../errors'
import { decoratedClasses, type Permission } from '../resource'
import { checkIdentifyingProperty } from './account-source'
import { findAuditEntity, protectAuditLog } from './audit-entity'
import { checkIncludesOptions } from './build-includes'
import { checkRule, checkUserEntity } from './build-rule'
import { buildViews } from './build-views'
import { collectFieldPermissions } from './check-field-permissions'
import { checkNestedOptions } from './check-nested'
import { checkReferenceOptions } from './check-reference-options'
import { checkSearchOptions, type SearchLimits } from './check-search'
import { supportedDatabases } from './column-value-type'
import type { CheckPolicy, ScanContext } from './context'
import { fieldPermissionFunctions, restrict } from './field-permissions'
import { allFilterNames } from './filter-names'
import { mysqlOptionsOf } from './mysql-options'
import {
  apiKeyEntities,
  collectAccounts,
  collectApiKeys,
  collectRegistrations,
  type Registration,
  type ResourceRegistration,
  type UserRegistration,
} from './registration'
import type { MountFieldPermissions, Registry, ResourceView } from './resource-view'

/** The options of a mount that the registry depends on. */
export interface RegistryOptions {
  readonly defaultAuth: Rule
  readonly authenticators: readonly Authenticator[]
  readonly resources: readonly ResourceRegistration[]
  readonly users: UserRegistration | undefined
  /** Whether every resource must have the option `scope`. */
  readonly requireScope: boolean
  /** Whether the access rule of every resource must permit reading it through relations. */
  readonly strictRelations: boolean
  /** The option `audit`. */
  readonly audit: { readonly entity: EntityTarget<ObjectLiteral> } | undefined
  /** Whether users can change their passwords. */
  readonly passwordChange: boolean
  /** Limits that a search for one word must not exceed. */
  readonly limits: SearchLimits
  /** Rule for reading the OpenAPI document; false if it is not served. */
  readonly openapi: Rule | false
}

/**
 * Builds the registry from the data source's metadata and the options.
 * @param mistakes mistakes found in other checks, to be reported in the same error
 * @param checkPolicy checks constants in the option `may`
 * @throws {ConfigError} with all mistakes (specification: Checks at mount)
 */
export function buildRegistry(
  dataSource: DataSource,
  options: RegistryOptions,
  mistakes: readonly string[],
  checkPolicy: CheckPolicy,
): Registry {
  const {
    defaultAuth,
    authenticators,
    resources: resourceOptions,
    users,
    openapi,
    requireScope,
    strictRelations,
    audit,
    passwordChange,
    limits,
  } = options
  const allMistakes = [...mistakes]
  const report = (mistake: string): void => void allMistakes.push(mistake)
  checkRule('defaultAuth', defaultAuth, report)
  const registrations = protectAuditLog(
    collectRegistrations(dataSource, resourceOptions, report),
    audit && findAuditEntity(dataSource, audit.entity, report),
    dataSource,
    report,
  )
  const mistakesBefore = allMistakes.length
  const accounts = collectAccounts(dataSource, users, report)
  const hasUsers = accounts !== undefined || allMistakes.length > mistakesBefore
  if (passwordChange && !hasUsers) report('"passwordChange" needs users; put @UserAccount() on their entity')
  const apiKeys = collectApiKeys(dataSource, accounts?.metadata, report)
  const entities: MountedEntities = {
    hasUsers,
    checkUserProperty: (property, reportMistake) => {
      if (accounts !== undefined) checkIdentifyingProperty(accounts.metadata, property, dataSource, reportMistake)
    },
    apiKeyEntities: apiKeyEntities(dataSource),
  }
  for (const { check } of authenticators) check?.(entities, report)
  if (openapi !== false && checkRule('openapi', openapi, report)) {
    checkUserEntity(openapi, { accounts, hasUsers, authenticators }, (mistake) => report(`"openapi": ${mistake}`))
  }
  if (registrations.length === 0 && allMistakes.length === 0) {
    report(`no entity of the data source is a resource: put @Resource() on one${otherClasses()}`)
  }
  const scan = {
    dataSource,
    defaultAuth,
    authenticators,
    accounts,
    apiKeys,
    hasUsers,
    registrations,
    strictRelations,
    checkPolicy,
  }
  const fieldPermissions = collectFieldPermissions(scan, report)
  for (const registration of registrations) {
    const reportHere = (mistake: string): void => report(`${registration.metadata.name}: ${mistake}`)
    checkReferenceOptions(registration, { ...scan, fieldPermissions }, reportHere)
  }
  const unrestricted = registrations.map((registration) =>
    restrict(registration, fieldPermissions, (one) => one !== false),
  )
  const context = { ...scan, registrations: unrestricted, fieldPermissions, viewSuffix: '' }
  const allNames = allFilterNames(context)
  const resources = buildViews(context, allNames, new Map(), report)
  checkSearchOptions(resources, registrations, limits, report)
  checkIncludesOptions(resources, registrations, report)
  checkNestedOptions(resources, registrations, dataSource, report)
  if (requireScope) checkScopes(registrations, report)
  if (allMistakes.length > 0) throw new ConfigError(allMistakes)
  return { resources, accounts, apiKeys, fieldPermissions: buildFieldPermissions(context, allNames, resources) }
}

/** Part of the message that a data source has no resources: the classes with `@Resource`, which it does not have. */
function otherClasses(): string {
  const names = Array.from(decoratedClasses(), (entity) => String(Object(entity).name))
  const shown = names.length > maxShownClasses ? [...names.slice(0, maxShownClasses), '…'] : names
  return names.length === 0 ? '' : `, or add those that have it, with @Entity(), to its "entities": ${shown.join(', ')}`
}

const maxShownClasses = 10

/** @param resources the views with all permissions */
function buildFieldPermissions(
  context: ScanContext,
  allNames: ReturnType<typeof allFilterNames>,
  resources: Registry['resources'],
): MountFieldPermissions {
  const { registrations, fieldPermissions } = context
  const functions = fieldPermissionFunctions(registrations, fieldPermissions)
  const byEntity = new Map(registrations.map((registration) => [registration.metadata, registration]))
  const fullViews = new Map<Registration, ResourceView>()
  for (const view of resources.values()) {
    const registration = byEntity.get(view.metadata)
    if (registration !== undefined) fullViews.set(registration, view)
  }
  return {
    functions,
    buildViews: (results) => {
      const permitted = new Set<Permission>(
        functions.flatMap(({ permission }, index) => (results[index] ? [permission] : [])),
      )
      const isPermitted = (permission: Permission): boolean => permission === true || permitted.has(permission)
      const restricted = registrations.map((registration) => restrict(registration, fieldPermissions, isPermitted))
      const scan = { ...context, registrations: restricted, viewSuffix: `/${toDigits(results)}` }
      return buildViews(scan, allNames, fullViews, (mistake) => {
        throw new Error(`a view that depends on field permissions cannot be built: ${mistake}`)
      })
    },
  }
}

/** The results of the functions as digits, which are a part of cache keys: `101` for true, false and true. */
function toDigits(results: readonly boolean[]): string {
  return results.map(Number).join('')
}

/** Reports resources without the option `scope`. */
function checkScopes(registrations: readonly Registration[], report: Report): void {
  for (const { metadata, options } of registrations) {
    // A scope that is undefined has been reported.
    if ('scope' in options) continue
    report(
      `${metadata.name}: "requireScope" is set, but the resource has no "scope"; if everybody may see its records, set scope: "all"`,
    )
  }
}

/**
 * Checks the type and the driver of a data source.
 * @returns the mistakes; empty for a data source that can be mounted
 */
export function checkDataSource(dataSource: DataSource): readonly string[] {
  const { type } = dataSource.options
  if (!supportedDatabases.includes(type)) {
    return [`the data source is of type ${type}; supported: ${supportedDatabases.join(', ')}`]
  }
  const { mysql } = dataSource.driver as unknown as {
    readonly mysql?: { readonly Connection?: { prototype?: object } }
  }
  if (mysql === undefined) return []
  if (!('execute' in Object(mysql.Connection?.prototype))) {
    return [
      'the data source uses the package mysql, which has no prepared statements and writes values into SQL: run ' +
        '"npm install mysql2" and set connectorPackage: "mysql2" in the options of the data source',
    ]
  }
  if (mysqlOptionsOf(dataSource).supportBigNumbers !== false) return []
  return [
    'the data source sets supportBigNumbers: false, so that mysql2 rounds integers beyond ±(2^53−1), and a write could ' +
      'change the record of another key: remove the option',
  ]
}
