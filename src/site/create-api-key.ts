import type { DataSource, DeepPartial, EntityMetadata, ObjectLiteral } from 'typeorm'
import { areApiKeyPermissions, generateApiKey, parseJson } from '../access/api-keys/api-key'
import type { EntityClass } from '../access/api-keys/api-key-authenticator'
import { toLoggable } from '../connection/database-error'
import { ConfigError } from '../errors'
import type { ApiKeySource } from '../schema/api-key-source'
import { collectApiKeys } from '../schema/registration'

/** Properties of a new API key. The service sets the prefix and the hash. */
export type ApiKeyValues<Entity> = DeepPartial<Entity>

/**
 * Creates an API key and stores its record. The key is returned once, and cannot be read again.
 * @param entity the entity with `@ApiKeys`. Default: the only one of the data source
 * @param values properties of the record: the user, and others such as the expiry and the permissions
 * @returns the key, which clients send as `Authorization: ApiKey <key>`
 * @throws {TypeError} if a value is missing or invalid
 * @throws {ConfigError} if `@ApiKeys` has mistakes
 * @example
 * const key = await createApiKey(dataSource, ApiKey, { user: { id: 1 }, permissions: { task: ['read'] } })
 */
export async function createApiKey<Entity extends object>(
  dataSource: DataSource,
  entity: abstract new (...args: never[]) => Entity,
  values: ApiKeyValues<Entity>,
): Promise<string>
export async function createApiKey(dataSource: DataSource, values: ObjectLiteral): Promise<string>
export async function createApiKey(
  dataSource: DataSource,
  ...[first, second]: readonly [EntityClass, object] | readonly [ObjectLiteral]
): Promise<string> {
  const entity = typeof first === 'function' ? first : undefined
  const values: ObjectLiteral = Object(second ?? first)
  const source = findSource(dataSource, entity as EntityClass | undefined)
  requireValid(source, values)
  const { key, prefix, hash } = generateApiKey()
  const repository = dataSource.getRepository(source.metadata.target)
  const record = repository.create(values)
  source.prefix.column.setEntityValue(record, prefix)
  source.hash.column.setEntityValue(record, hash)
  // An error of TypeORM would contain the hash.
  await repository.save(record).catch((error: unknown) => {
    throw toLoggable(error, dataSource)
  })
  return key
}

/** @throws {ConfigError} if `@ApiKeys` has mistakes, @throws {TypeError} if the entity is not known */
function findSource(dataSource: DataSource, entity: EntityClass | undefined): ApiKeySource {
  if (!dataSource.isInitialized) throw new TypeError('createApiKey() needs a data source that is initialized')
  const mistakes: string[] = []
  const sources = collectApiKeys(dataSource, undefined, (mistake) => mistakes.push(mistake))
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  const candidates = sources.filter(({ metadata }) => entity === undefined || metadata.target === entity)
  const [source] = candidates
  if (source === undefined) throw new TypeError(`${entity?.name ?? 'no entity of the data source'} has no @ApiKeys`)
  if (candidates.length === 1) return source
  const names = candidates.map(({ metadata }) => metadata.name).join(' and ')
  throw new TypeError(`createApiKey() must name one of the entities with @ApiKeys: ${names}`)
}

/** Checks the values of a new key, so that the key does not permit more than intended. @throws {TypeError} */
function requireValid({ metadata, user, prefix, hash, permissions }: ApiKeySource, values: ObjectLiteral): void {
  const unknown = Object.keys(values).find((name) => !hasProperty(metadata, name))
  if (unknown !== undefined) {
    const properties = [...metadata.columns, ...metadata.relations].map(({ propertyName }) => propertyName)
    throw new TypeError(
      `createApiKey(): unknown property "${unknown}" of ${metadata.name}; properties: ${[...new Set(properties)].join(', ')}`,
    )
  }
  for (const { column } of [prefix, hash]) {
    const isSet = column.getEntityValue(values) !== undefined
    if (isSet) throw new TypeError(`createApiKey() sets "${column.propertyPath}" itself`)
  }
  const owner: unknown = user.getEntityValue(values)
  if (owner === undefined || owner === null) throw new TypeError(`createApiKey() needs "${user.propertyPath}"`)
  const given: unknown = permissions?.column.getEntityValue(values)
  if (given === undefined || given === null) return
  const parsed = permissions?.valueType.name === 'text' ? parseJson(given) : given
  if (areApiKeyPermissions(parsed)) return
  throw new TypeError(`"${permissions?.column.propertyPath}" must be permissions such as { task: ['read', 'create'] }`)
}

function hasProperty({ columns, relations }: EntityMetadata, name: string): boolean {
  return [...columns, ...relations].some(({ propertyPath }) => propertyPath.split('.')[0] === name)
}
