import type { DataSource, EntityMetadata, EntityTarget, ObjectLiteral } from 'typeorm'
import type { Report } from '../errors'
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

/** An entity of the data source, and what was said of it. */
export interface Registration<Options = ResourceOptions> {
  readonly metadata: EntityMetadata
  readonly options: Options
}

const resourceOptionNames: Readonly<Record<keyof ResourceRegistration, true>> = {
  entity: true,
  name: true,
  description: true,
  exclude: true,
  rename: true,
  readOnly: true,
  auth: true,
  ownerField: true,
  requireIfMatch: true,
  paging: true,
}
const accountOptionNames: Readonly<Record<keyof UserRegistration, true>> = {
  entity: true,
  username: true,
  password: true,
  admin: true,
  active: true,
  hash: true,
  verify: true,
}

/** The decorated entities of the data source, in its order, then those named in `resources`. */
export function collectRegistrations(
  dataSource: DataSource,
  named: readonly ResourceRegistration[],
  report: Report,
): readonly Registration[] {
  const registrations = [...decorated(dataSource, resourceOptions)]
  for (const options of named) {
    const metadata = metadataOf(dataSource, options.entity, 'resources', report)
    if (metadata === undefined) continue
    if (registrations.some((other) => other.metadata === metadata)) {
      report(`${metadata.name} is registered twice: keep @Resource or its entry in "resources"`)
    } else registrations.push({ metadata, options })
  }
  for (const { metadata, options } of registrations) {
    checkOptionNames(options, resourceOptionNames, (mistake) => report(`${metadata.name}: ${mistake}`))
  }
  return registrations
}

/** Where the users are: the option `users`, else the one entity that carries `@UserAccount`. */
export function collectAccounts(
  dataSource: DataSource,
  users: UserRegistration | undefined,
  report: Report,
): AccountSource | undefined {
  const found = [...decorated(dataSource, userAccountOptions)]
  if (users !== undefined) {
    const metadata = metadataOf(dataSource, users.entity, 'users', report)
    if (metadata !== undefined) found.push({ metadata, options: users })
  }
  const [account] = found
  if (account === undefined) return undefined
  if (found.length > 1) {
    report(`the site's users are in ${found.map(({ metadata }) => metadata.name).join(' and ')}: only one can be`)
  }
  const { metadata, options } = account
  const reportOf: Report = (mistake) => report(`${metadata.name}: ${mistake}`)
  checkOptionNames(options, accountOptionNames, reportOf)
  return buildAccountSource(metadata, options, dataSource, reportOf)
}

/** Says which options are none, whatever the compiler let pass. */
export function checkOptionNames(options: object, known: Readonly<Record<string, unknown>>, report: Report): void {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) report(`"${name}" is no option; options: ${Object.keys(known).join(', ')}`)
  }
}

function decorated<Options>(
  dataSource: DataSource,
  optionsOf: (entity: object) => Options | undefined,
): readonly Registration<Options>[] {
  return dataSource.entityMetadatas.flatMap((metadata) => {
    const options = typeof metadata.target === 'function' ? optionsOf(metadata.target) : undefined
    return options === undefined ? [] : [{ metadata, options }]
  })
}

function metadataOf(
  dataSource: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  option: string,
  report: Report,
): EntityMetadata | undefined {
  if (entity === undefined) {
    report(`"${option}" lacks an "entity"; give { entity: SomeClass, …options }`)
    return undefined
  }
  if (dataSource.hasMetadata(entity)) return dataSource.getMetadata(entity)
  const name = typeof entity === 'function' ? entity.name : JSON.stringify(entity)
  report(`"${option}" names ${name}, which is no entity of this data source`)
  return undefined
}
