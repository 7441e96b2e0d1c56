import { checkOptionNames } from '../../option-mistakes'
import {
  type Authenticator,
  type CredentialAction,
  type MountedEntities,
  missingUsers,
  type Verify,
} from '../authenticator'
import { type ApiKeyPermissions, areApiKeyPermissions, hasHash, parseApiKey } from './api-key'
import type { ApiKeyLookup } from './api-key-lookup'

/** The scheme of the header `Authorization`. */
export const apiKeyScheme = 'ApiKey'

/** A class that is an entity. */
export type EntityClass = abstract new (...args: never[]) => object

/** Options of {@link apiKeys}. */
export interface ApiKeyAuthenticatorOptions {
  /** The entity with `@ApiKeys`. Default: the only one of the data source. */
  readonly entity?: EntityClass
}

/**
 * Creates the authenticator for API keys: `Authorization: ApiKey <key>`. The keys are records of an entity with
 * `@ApiKeys`, and the principals are their users.
 * @throws {TypeError} for an invalid option
 */
export function apiKeys(options: ApiKeyAuthenticatorOptions = {}): Authenticator {
  const { entity } = options
  checkOptionNames(options, { entity: true }, (mistake) => {
    throw new TypeError(`apiKeys() has an ${mistake}`)
  })
  if ('entity' in options && typeof entity !== 'function') {
    throw new TypeError(`"entity" of apiKeys() must be a class, not ${entity}; check for a circular import`)
  }
  return {
    scheme: apiKeyScheme,
    challenge: `${apiKeyScheme} realm="API"`,
    name: 'apikey',
    securityScheme: {
      type: 'apiKey',
      in: 'header',
      name: 'Authorization',
      description: `The value of the header is the scheme and the key: \`${apiKeyScheme} ak_…\``,
    },
    needsUsers: true,
    check: ({ apiKeyEntities, hasUsers }, report) => {
      checkEntity(entity, apiKeyEntities, report)
      if (!hasUsers) report(missingUsers('apiKeys()'))
    },
    prepare: (site) => buildVerify(site.apiKeysOf(entity)),
  }
}

function checkEntity(
  entity: EntityClass | undefined,
  entities: MountedEntities['apiKeyEntities'],
  report: (mistake: string) => void,
): void {
  const names = entities.map(({ name }) => name).join(' and ')
  if (entities.length === 0) report('apiKeys() needs an entity with @ApiKeys; put it on one of the data source')
  else if (entity !== undefined && !entities.includes(entity)) {
    report(`apiKeys() names ${entity.name}, which is not an entity with @ApiKeys; these are: ${names}`)
  } else if (entity === undefined && entities.length > 1) {
    report(`apiKeys() must name one of the entities with @ApiKeys as "entity": ${names}`)
  }
}

function buildVerify<Session>(keys: ApiKeyLookup<Session> | undefined): Verify<Session> {
  return async (session, authorization, { res }) => {
    const parts = parseApiKey(authorization.slice(apiKeyScheme.length).trim())
    if (parts === undefined) return { reason: 'the credentials do not have the form of an API key' }
    if (keys === undefined) return { reason: 'the mount has no API keys' }
    const { prefix, secret } = parts
    const key = await keys.find(session, prefix)
    const isCorrect = hasHash(secret, key?.hash)
    if (key === undefined) return { reason: 'there is no API key with this prefix' }
    if (!isCorrect) return { reason: 'the secret of the API key is wrong' }
    const { user, expires, permissions } = key
    if (!isNull(expires) && !isInFuture(expires)) return { reason: 'the API key has expired' }
    if (user === undefined) return { reason: 'the API key has no user' }
    if (!user.active) return { reason: 'the user of the API key is not active' }
    if (!isNull(permissions) && !areApiKeyPermissions(permissions)) {
      return { reason: 'the stored permissions of the API key are invalid; write { "resource": ["read", …] }' }
    }
    const { noteUse } = keys
    // The credentials of a live list are checked again and again while its response is sent, which may take days.
    if (res.headersSent) noteUse?.(prefix, key)
    // After the response, so that the request does not wait for the connection.
    else if (noteUse !== undefined) res.once('close', () => noteUse(prefix, key))
    const permitted = isNull(permissions) ? undefined : permissions
    return {
      principal: user.principal(),
      permits: (resource, action) => permits(permitted, keys.resources, resource, action),
    }
  }
}

/**
 * Whether a key permits an action. A key cannot create or change keys: a stolen or restricted one could otherwise get a
 * second one that stays valid when it is revoked, or that permits more.
 * @param permissions undefined for a key that permits what its user may do
 * @param keyResources names of the resources whose records are API keys
 */
function permits(
  permissions: ApiKeyPermissions | undefined,
  keyResources: ReadonlySet<string>,
  resource: string,
  action: CredentialAction,
): boolean {
  if (keyResources.has(resource) && (action === 'create' || action === 'update')) return false
  if (permissions === undefined) return true
  return Object.hasOwn(permissions, resource) && permissions[resource]?.includes(action) === true
}

function isNull(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

/** False for a value that is not a time, such as text in a column of SQLite. */
function isInFuture(value: unknown): boolean {
  return value instanceof Date && value.getTime() > Date.now()
}
