import type { DataSource, DeepPartial, EntityMetadata, ObjectLiteral } from 'typeorm'
import { areApiKeyPermissions, generateApiKey, parseJson } from '../access/api-keys/api-key'
import type { EntityClass } from '../access/api-keys/api-key-authenticator'
import { toLoggable } from '../connection/database-error'
import { newRunner } from '../connection/db-session'
import { dialectOf } from '../dialect/dialect-of'
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
  const { target } = source.metadata
  const record = dataSource.getRepository(target).create(values)
  source.prefix.column.setEntityValue(record, prefix)
  source.hash.column.setEntityValue(record, hash)
  requireBindable(dataSource, source.metadata, record)
  await save(dataSource, target, record)
  return key
}

/**
 * Stores a record with a query runner of this service, which sends the values as parameters. On MySQL and MariaDB, those of
 * TypeORM write the values into the SQL.
 */
async function save(dataSource: DataSource, target: EntityMetadata['target'], record: ObjectLiteral): Promise<void> {
  const runner = newRunner({ dataSource, replica: false, timeLimit: Number.POSITIVE_INFINITY })
  try {
    await runner.manager.getRepository(target).save(record)
  } catch (error) {
    // An error of TypeORM would contain the hash.
    throw toLoggable(error, dataSource)
  } finally {
    await runner.release()
  }
}

/** Requires that each value can be a parameter: mysql2 writes arrays and other objects into the SQL. @throws {TypeError} */
function requireBindable(dataSource: DataSource, { columns }: EntityMetadata, record: ObjectLiteral): void {
  const { toDriverParameter } = dialectOf(dataSource)
  for (const column of columns) {
    const value: unknown = column.isVirtualProperty ? undefined : column.getEntityValue(record)
    if (value !== undefined) toDriverParameter(dataSource.driver.preparePersistentValue(value, column))
  }
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
