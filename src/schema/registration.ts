import type { DataSource, EntityMetadata, EntityTarget, ObjectLiteral } from 'typeorm'
import { type ResourceOptions, resourceOptions, type UserAccountOptions, userAccountOptions } from '../resource'
import { type AccountSource, buildAccountSource } from './account-source'

/** Registers an entity that carries no decorator: an `EntitySchema`, or somebody else's class. */
export interface ResourceRegistration extends ResourceOptions {
  readonly entity: EntityTarget<ObjectLiteral>
}

/** What `@UserAccount` says, for an entity that carries no decorator. */
export interface UserRegistration extends UserAccountOptions {
  readonly entity: EntityTarget<ObjectLiteral>
}

export interface Registration {
  readonly metadata: EntityMetadata
  readonly options: ResourceOptions
}

const resourceOptionNames = ['name', 'exclude', 'readOnly', 'auth', 'ownerField', 'entity']
const accountOptionNames = ['username', 'password', 'admin', 'active', 'hash', 'verify', 'entity']

/** The decorated entities of the data source, in its order, then those named in `resources`. */
export function collectRegistrations(
  dataSource: DataSource,
  named: readonly ResourceRegistration[],
  faults: string[],
): readonly Registration[] {
  const decorated = dataSource.entityMetadatas.flatMap((metadata) => {
    const options = typeof metadata.target === 'function' ? resourceOptions(metadata.target) : undefined
    return options === undefined ? [] : [{ metadata, options }]
  })
  const registrations = [...decorated]
  for (const options of named) {
    const metadata = metadataOf(dataSource, options.entity, 'resources', faults)
    if (metadata === undefined) continue
    if (registrations.some((other) => other.metadata === metadata)) {
      faults.push(`${metadata.name} is registered twice: keep @Resource or its entry in "resources"`)
    } else registrations.push({ metadata, options })
  }
  for (const { metadata, options } of registrations) {
    checkOptionNames(metadata.name, options, resourceOptionNames, faults)
  }
  return registrations
}

/** Where the users are: the option `users`, else the one entity that carries `@UserAccount`. */
export function collectAccounts(
  dataSource: DataSource,
  users: UserRegistration | undefined,
  faults: string[],
): AccountSource | undefined {
  const found = dataSource.entityMetadatas.flatMap((metadata) => {
    const options = typeof metadata.target === 'function' ? userAccountOptions(metadata.target) : undefined
    return options === undefined ? [] : [{ metadata, options }]
  })
  if (users !== undefined) {
    const metadata = metadataOf(dataSource, users.entity, 'users', faults)
    if (metadata !== undefined) found.push({ metadata, options: users })
  }
  if (found.length > 1) {
    faults.push(`the site's users are in ${found.map(({ metadata }) => metadata.name).join(' and ')}: only one can be`)
  }
  const [account] = found
  if (account === undefined) return undefined
  checkOptionNames(account.metadata.name, account.options, accountOptionNames, faults)
  return buildAccountSource(account.metadata, account.options, faults)
}

function metadataOf(
  dataSource: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  option: string,
  faults: string[],
): EntityMetadata | undefined {
  if (entity !== undefined && dataSource.hasMetadata(entity)) return dataSource.getMetadata(entity)
  const name = typeof entity === 'function' ? entity.name : JSON.stringify(entity)
  faults.push(`"${option}" names ${name}, which is no entity of this data source`)
  return undefined
}

function checkOptionNames(entity: string, options: object, known: readonly string[], faults: string[]): void {
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) faults.push(`${entity}: "${name}" is no option; options: ${known.join(', ')}`)
  }
}
