import { apiKeyScheme } from '../access/api-keys/api-key-authenticator'
import type { ApiKeyLookup } from '../access/api-keys/api-key-lookup'
import type { Authenticator } from '../access/authenticator'
import type { DbSession } from '../connection/db-session'
import { buildApiKeyFind } from '../read/api-key-lookup'
import type { Registry, ResourceView } from '../schema/resource-view'
import { buildNoteUse } from '../write/api-key-use'

/**
 * Builds the lookup of API keys for the authenticator.
 * @param entity the class of the keys; undefined for the only one
 */
export function apiKeysOf(
  registry: Registry,
  session: DbSession,
  entity: object | undefined,
): ApiKeyLookup<DbSession> | undefined {
  const { accounts, apiKeys } = registry
  const source = apiKeys.find(({ metadata }) => entity === undefined || metadata.target === entity)
  if (source === undefined || accounts === undefined) return undefined
  return {
    find: buildApiKeyFind(source, accounts, session.dataSource),
    noteUse: buildNoteUse(source, session),
    resources: new Set(keyResources(registry).map(({ name }) => name)),
  }
}

/**
 * Warns of resources in which requests can create API keys if no authenticator of the mount verifies keys. It is not a
 * mistake, because another mount may verify them.
 */
export function warnAboutUnverifiedKeys(
  registry: Registry,
  authenticators: readonly Authenticator[],
  warn: (message: string) => void,
): void {
  if (authenticators.some(({ scheme }) => scheme.toLowerCase() === apiKeyScheme.toLowerCase())) return
  for (const { name, rule } of keyResources(registry)) {
    if (rule.writes === false) continue
    warn(
      `requests can create API keys in the resource "${name}", but this mount does not accept them: unless another ` +
        'mount does, add apiKeys() to the option "authenticators"',
    )
  }
}

/** The resources whose records are API keys, also those of other entities with the same table. */
function keyResources({ resources, apiKeys }: Registry): readonly ResourceView[] {
  const tables = apiKeys.map(({ metadata }) => metadata.tablePath)
  return [...resources.values()].filter(({ metadata }) => tables.includes(metadata.tablePath))
}
