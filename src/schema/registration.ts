import type { DataSource, EntityMetadata, EntityTarget, ObjectLiteral } from 'typeorm'
import type { Report } from '../errors'
import { checkOptionNames, requireDefined } from '../option-mistakes'
import {
  type ApiKeyOptions,
  apiKeyOptions,
  type ResourceOptions,
  resourceOptions,
  type UserAccountOptions,
  userAccountOptions,
} from '../resource'
import { type AccountSource, buildAccountSource } from './account-source'
import { type ApiKeySource, buildApiKeySource } from './api-key-source'
import { idempotencyMetadata } from './idempotency-key'

/** Options of a resource whose entity has no decorator: an `EntitySchema`, or a class of another package. */
export interface ResourceRegistration extends ResourceOptions {
  readonly entity: EntityTarget<ObjectLiteral>
}

/** The options of `@UserAccount` for an entity that has no decorator. */
export interface UserRegistration extends UserAccountOptions {
  readonly entity: EntityTarget<ObjectLiteral>
}

/** An entity of the data source with its options. */
export interface Registration<Options = ResourceOptions> {
  readonly metadata: EntityMetadata
  readonly options: Options
  /** Whether nobody can write the records, whatever the access rule permits. Default: false. */
  readonly isReadOnly?: boolean
}

/** Names of the options of a resource. `build-resource.ts` checks their values. */
export const resourceOptionNames: Readonly<Record<keyof ResourceRegistration, true>> = {
  entity: true,
  name: true,
  description: true,
  exclude: true,
  fields: true,
  rename: true,
  readOnly: true,
  auth: true,
  ownerField: true,
  requireIfMatch: true,
  paging: true,
  aggregate: true,
  formats: true,
  bulk: true,
  includes: true,
  nested: true,
  scope: true,
  may: true,
  preset: true,
  search: true,
}

/**
 * Options that restrict what requests may read or write. If modules import each other in a circle, the value of an option may
 * still be undefined; the resource must not be served without the restriction then. `auth` and `fields` are checked where they
 * are read.
 */
const restrictions = [
  'exclude',
  'readOnly',
  'ownerField',
  'requireIfMatch',
  'includes',
  'scope',
  'may',
  'preset',
] as const

/** Names of the options of the user entity. `account-source.ts` checks their values. */
export const accountOptionNames: Readonly<Record<keyof UserRegistration, true>> = {
  entity: true,
  username: true,
  password: true,
  admin: true,
  active: true,
  principal: true,
  hash: true,
  verify: true,
}

/** Names of the options of `@ApiKeys`. `api-key-source.ts` checks their values. */
export const apiKeyOptionNames: Readonly<Record<keyof ApiKeyOptions, true>> = {
  prefix: true,
  hash: true,
  user: true,
  expires: true,
  lastUsed: true,
  permissions: true,
}

/** Collects the entities with `@Resource`, in the order of the data source, then those in the option `resources`. */
export function collectRegistrations(
  dataSource: DataSource,
  listed: readonly ResourceRegistration[],
  report: Report,
): readonly Registration[] {
  const registrations = [...decorated(dataSource, resourceOptions)]
  for (const options of listed) {
    const metadata = metadataOf(dataSource, options.entity, 'resources', report)
    if (metadata === undefined) continue
    if (registrations.some((other) => other.metadata === metadata)) {
      report(`${metadata.name} is registered twice: remove @Resource or its entry in "resources"`)
    } else registrations.push({ metadata, options })
  }
  for (const { metadata, options } of registrations) {
    if (metadata === idempotencyMetadata(dataSource)) {
      report('IdempotencyKey cannot be a resource: it has the responses to all principals')
    }
    const reportHere: Report = (mistake) => report(`${metadata.name}: ${mistake}`)
    checkOptionNames(options, resourceOptionNames, reportHere)
    requireDefined(options, restrictions, reportHere)
  }
  return registrations
}

/**
 * Finds the user entity: the one in the option `users` or with `@UserAccount`. More than one is a mistake.
 * @returns undefined if there is no user entity, or if it has mistakes
 */
export function collectAccounts(
  dataSource: DataSource,
  users: UserRegistration | undefined,
  report: Report,
): AccountSource | undefined {
  const candidates = [...decorated(dataSource, userAccountOptions)]
  if (users !== undefined) {
    const metadata = metadataOf(dataSource, users.entity, 'users', report)
    if (metadata !== undefined) candidates.push({ metadata, options: users })
  }
  const [account] = candidates
  if (account === undefined) return undefined
  if (candidates.length > 1) {
    const names = candidates.map(({ metadata }) => metadata.name).join(' and ')
    report(`there are several user entities: ${names}; only one is allowed`)
  }
  const { metadata, options } = account
  const reportForEntity: Report = (mistake) => report(`${metadata.name}: ${mistake}`)
  checkOptionNames(options, accountOptionNames, reportForEntity)
  return buildAccountSource(metadata, options, dataSource, reportForEntity)
}

/**
 * Finds the entities with `@ApiKeys`.
 * @param users metadata of the user entity; undefined if it is not known
 * @returns those without mistakes
 */
export function collectApiKeys(
  dataSource: DataSource,
  users: EntityMetadata | undefined,
  report: Report,
): readonly ApiKeySource[] {
  return decorated(dataSource, apiKeyOptions).flatMap(({ metadata, options }) => {
    const reportForEntity: Report = (mistake) => report(`${metadata.name}: ${mistake}`)
    checkOptionNames(options, apiKeyOptionNames, reportForEntity)
    return buildApiKeySource(metadata, options, users, dataSource, reportForEntity) ?? []
  })
}

/** The classes with `@ApiKeys`, also those with mistakes. */
export function apiKeyEntities(dataSource: DataSource): readonly { readonly name: string }[] {
  return decorated(dataSource, apiKeyOptions).flatMap(({ metadata: { target } }) =>
    typeof target === 'function' ? [target] : [],
  )
}

/** The entities that a decorator has stored options for. */
function decorated<Options>(
  dataSource: DataSource,
  optionsOf: (entity: object) => Options | undefined,
): readonly Registration<Options>[] {
  return dataSource.entityMetadatas.flatMap((metadata) => {
    const options = typeof metadata.target === 'function' ? optionsOf(metadata.target) : undefined
    return options === undefined ? [] : [{ metadata, options }]
  })
}

/**
 * Finds the metadata of an entity that an option names, or reports that it has none.
 * @param option the option, for the message
 */
function metadataOf(
  dataSource: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  option: string,
  report: Report,
): EntityMetadata | undefined {
  if (entity === undefined) {
    report(`"${option}" must have an "entity": { entity: SomeClass, …options }`)
    return undefined
  }
  if (dataSource.hasMetadata(entity)) return dataSource.getMetadata(entity)
  const name = typeof entity === 'function' ? entity.name : JSON.stringify(entity)
  report(`"${option}" names ${name}, which is not an entity of this data source`)
  return undefined
}
