import type { Principal } from '../rule'

/** The record of a key, with its user. */
export interface StoredApiKey {
  readonly hash: unknown
  /** Null or undefined for a key that does not expire. */
  readonly expires: unknown
  readonly lastUsed: unknown
  /** Null or undefined for a key that permits what the user may do. */
  readonly permissions: unknown
  /** Undefined if the key has no user, or the user is deleted. */
  readonly user: { readonly active: boolean; readonly principal: () => Principal } | undefined
}

/** Finds the API keys of an entity. */
export interface ApiKeyLookup<Session> {
  /** Reads a key and its user in one statement. @returns undefined if there is no key with this prefix */
  readonly find: (session: Session, prefix: string) => Promise<StoredApiKey | undefined>
  /**
   * Writes the time of the last use, at most once per minute and key. It never throws and need not be awaited. Undefined
   * if the entity does not store it.
   */
  readonly noteUse: ((prefix: string, key: StoredApiKey) => void) | undefined
  /** Names of the resources whose records are API keys. */
  readonly resources: ReadonlySet<string>
}
