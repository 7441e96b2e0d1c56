import type { DataSource } from 'typeorm'
import { callForPrincipal } from '../access/call-function'
import { buildFailedLogins } from '../access/passwords/failed-logins'
import { argon2id } from '../access/passwords/password'
import { buildPasswordChecks } from '../access/passwords/password-checks'
import { prepareAuthenticators } from '../access/request-authentication'
import type { DbSession } from '../connection/db-session'
import { parseSettings } from '../connection/parse-settings'
import { type CredentialTables, LiveLists } from '../live/live-lists'
import { KeyedQueue } from '../pipeline/keyed-queue'
import { buildProfiles } from '../pipeline/profiles'
import { RunningWork } from '../pipeline/running-work'
import { buildServedResources, type Service } from '../pipeline/service'
import { SpooledBytes } from '../pipeline/spooled-bytes'
import { StreamedLists } from '../pipeline/streamed-lists'
import { checkConstant } from '../query/policy-function'
import { newQueryShapeCache } from '../query/query-shape'
import { buildAccountLookup } from '../read/account-lookup'
import { passingTables } from '../read/related-tables'
import { buildCursorTokens } from '../request/cursor'
import { identifiedBy } from '../schema/account-source'
import { buildRegistry } from '../schema/build-registry'
import type { Registry } from '../schema/resource-view'
import { buildDeleteExpired } from '../write/delete-expired'
import { buildPasswordChange } from '../write/password-change'
import { buildStoredResponses } from '../write/stored-responses'
import { apiKeysOf, warnAboutUnverifiedKeys } from './api-keys'
import type { MountSettings } from './mount-options'
import { requireSameProtection } from './other-mounts'
import { requireNoPageNames } from './pages'

/**
 * Builds what the requests of a mount share.
 * @param mistakes mistakes found in other checks, to be reported in the same error
 * @param report receives errors outside of requests
 * @throws {ConfigError} with all mistakes
 */
export function buildService(
  session: DbSession,
  settings: MountSettings,
  mistakes: readonly string[],
  report: (error: unknown) => void,
): Service {
  const { dataSource } = session
  const { limits, allowedOrigins, pagingSecret, forbidden, databaseSettings, authenticators, failedLogins } = settings
  const registry = buildRegistry(dataSource, settings, mistakes, checkConstant)
  const { resources, accounts } = registry
  requireNoPageNames(settings, resources)
  requireSameProtection(dataSource, settings, registry)
  const { concurrentPasswords, queuedPasswords } = limits
  const warn = (message: string): void => dataSource.logger.log('warn', `typeorm-resources: ${message}`)
  warnAboutUnverifiedKeys(registry, authenticators, warn)
  const passwords = buildPasswordChecks(
    accounts?.hashing ?? argon2id,
    concurrentPasswords,
    queuedPasswords,
    failedLogins && buildFailedLogins(failedLogins, warn),
  )
  const responses = buildStoredResponses(dataSource)
  const queryShapes = newQueryShapeCache()
  const profiles = buildProfiles(registry, dataSource, databaseSettings !== undefined, queryShapes)
  return {
    resources: buildServedResources(profiles),
    profiles,
    limits,
    streams: new StreamedLists(limits.streams),
    live: settings.live === false ? undefined : new LiveLists(limits, credentialTablesOf(dataSource, registry), report),
    imports: new RunningWork(limits.imports, { plural: 'imports', limit: 'limits.imports' }),
    spooledBytes: new SpooledBytes(limits),
    updates: new KeyedQueue(),
    allowedOrigins,
    escapeFormulas: settings.escapeFormulas,
    forbidden,
    verifyCredentials: prepareAuthenticators(authenticators, {
      passwords,
      accountsBy: (property) => accounts && buildAccountLookup(identifiedBy(accounts, property), dataSource),
      apiKeysOf: (entity) => apiKeysOf(registry, session, entity),
    }),
    authenticators,
    passwords,
    failedLogins,
    passwordChange: settings.passwordChange && accounts ? buildPasswordChange(accounts, dataSource) : undefined,
    idempotency: responses && {
      responses,
      deleteExpired: buildDeleteExpired(responses, session),
      running: new Set(),
    },
    cursorTokens: buildCursorTokens(pagingSecret),
    settingsFor:
      databaseSettings &&
      ((principal) => parseSettings(callForPrincipal('"databaseSettings"', databaseSettings, principal))),
    queryShapes,
    hasPolicies: [...resources.values()].some(({ isGuarded, preset }) => isGuarded || preset !== undefined),
  }
}

function credentialTablesOf(dataSource: DataSource, { accounts, apiKeys }: Registry): CredentialTables {
  const accountTable = accounts?.metadata.tablePath
  const keyTables = apiKeys.map(({ metadata }) => metadata.tablePath)
  return {
    accounts: accountTable,
    apiKeys: new Set(keyTables),
    passing: passingTables(dataSource, accountTable === undefined ? keyTables : [accountTable, ...keyTables]),
  }
}
