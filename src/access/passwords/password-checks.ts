import { hash as digestOf, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { unavailable } from '../../errors'
import type { Credentials } from '../credentials'
import type { FailedLogins } from './failed-logins'
import { buildFairQueue, type Parties, partiesOf } from './fair-queue'
import type { PasswordHashing } from './password'
import { buildPasswordVerifier } from './password-verifier'

/** Maximum number of correct credentials in the cache. */
const maxRemembered = 1000

/**
 * The password hashing of a mount. It limits concurrent hashing and shares it fairly between clients
 * ({@link buildFairQueue}).
 */
export interface PasswordChecks {
  /** Hashes a password. @throws {ApiError} `unavailable`, if too many jobs wait */
  readonly hash: (plain: string, parties: Parties) => Promise<string>
  /**
   * Whether a password matches a stored hash. Correct credentials are cached, and not hashed again until the stored
   * hash changes.
   * @param stored undefined if there is no such user: the check takes the same time, and the result is false
   * @param address IP address of the client
   * @throws {ApiError} `unavailable`, if too many jobs wait; `too-many-requests`, after too many wrong passwords
   */
  readonly matches: (credentials: Credentials, stored: string | undefined, address: string) => Promise<boolean>
}

/**
 * Builds the password checks of a mount. Neither passwords nor hashes are kept in memory: the caches contain digests, keyed
 * with a random secret.
 * @param maxRunning maximum number of passwords that are hashed concurrently. Hashing is CPU-bound, and occupies
 * threads of libuv's pool, which file access and the `sqlite3` driver need too
 * @param maxWaiting maximum number of passwords in the queue
 * @param failedLogins counts wrong passwords; undefined if they are not limited
 */
export function buildPasswordChecks(
  hashing: PasswordHashing,
  maxRunning: number,
  maxWaiting: number,
  failedLogins?: FailedLogins,
): PasswordChecks {
  const queue = buildFairQueue(maxRunning, maxWaiting, () => unavailable('too many passwords are being checked'))
  const verify = buildPasswordVerifier(hashing)
  const secret = randomBytes(32).toString('base64')
  /** Digests of user name, password and stored hash. */
  const correct = new LRUCache<string, true>({ max: maxRemembered })
  /** Digests of user name and password that are or were correct: after a change, the former password is still recognized. */
  const onceCorrect = new LRUCache<string, true>({ max: maxRemembered })
  /** Running checks by digest: concurrent requests with the same credentials share one check. */
  const checking = new Map<string, Promise<boolean>>()
  const digest = ({ username, password }: Credentials, ...stored: readonly string[]): string => {
    const texts = [secret, username, password, ...stored].map((text) => `${text.length}:${text}`)
    return digestOf('sha256', texts.join(''), 'base64')
  }
  const check = async (credentials: Credentials, stored: string | undefined, address: string) => {
    const { username, password } = credentials
    const parties = partiesOf(address, username)
    const isCorrect = await queue.run(parties, async () => {
      // Once more: passwords that were sent at the same time have waited for the results of each other.
      await failedLogins?.requireFew(username, address)
      const result = await verify(password, stored)
      // A former password is no guess: after a change, other browsers and open live lists of the user still have it.
      if (!result && !onceCorrect.has(digest(credentials))) await failedLogins?.count(username, address)
      return result
    })
    if (!isCorrect) queue.countFailure(parties)
    return isCorrect
  }
  return {
    hash: (plain, parties) => queue.run(parties, () => hashing.hash(plain)),
    matches: async (credentials, stored, address) => {
      // Before the cache: otherwise the response to a cached password would show that it is correct.
      if (failedLogins !== undefined) await failedLogins.requireFew(credentials.username, address)
      // The empty string stands for no user: a hash is never empty.
      const key = digest(credentials, stored ?? '')
      if (correct.get(key)) return true
      const result = checking.get(key) ?? check(credentials, stored, address)
      checking.set(key, result)
      try {
        const isCorrect = await result
        if (!isCorrect) return false
        correct.set(key, true)
        onceCorrect.set(digest(credentials), true)
        return true
      } finally {
        checking.delete(key)
      }
    },
  }
}
