import { hash as digestOf, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { unavailable } from '../errors'
import type { Credentials } from './credentials'
import { buildFairQueue, type Parties, partiesOf } from './fair-queue'
import type { PasswordHashing } from './password'
import { buildPasswordVerifier } from './password-verifier'

/** Passwords that were right are remembered for so many users. */
const remembered = 1000

/** The hashing of one site, with a limit on how much of it goes on, which is shared fairly between those who ask for it. */
export interface PasswordChecks {
  /** @throws {ApiError} `unavailable`, when too many wait already */
  readonly hash: (plain: string, parties: Parties) => Promise<string>
  /**
   * Whether a password is the one of this stored hash; `undefined` is nobody's. What was right once need not be hashed again, as long as the
   * same hash is stored.
   * @param address of the client
   * @throws {ApiError} `unavailable`, when too many wait already
   */
  readonly matches: (credentials: Credentials, stored: string | undefined, address: string) => Promise<boolean>
}

/**
 * Neither passwords nor hashes are kept: what is remembered is a digest of both under a key that nobody knows.
 * @param maxRunning how many are hashed at a time, since hashing takes most of a core, and the threads of libuv's pool, which files and the `sqlite3` driver need too
 * @param maxWaiting how many may wait for it
 */
export function buildPasswordChecks(hashing: PasswordHashing, maxRunning: number, maxWaiting: number): PasswordChecks {
  const queue = buildFairQueue(maxRunning, maxWaiting, () => unavailable('too many passwords are being checked'))
  const verify = buildPasswordVerifier(hashing)
  const secret = randomBytes(32).toString('base64')
  const known = new LRUCache<string, true>({ max: remembered })
  /** The same asked many times at once is one check. */
  const checking = new Map<string, Promise<boolean>>()
  const digest = ({ username, password }: Credentials, stored: string): string => {
    const texts = [secret, username, password, stored].map((text) => `${text.length}:${text}`)
    return digestOf('sha256', texts.join(''), 'base64')
  }
  const check = async ({ username, password }: Credentials, stored: string | undefined, address: string) => {
    const parties = partiesOf(address, username)
    const isRight = await queue.run(parties, () => verify(password, stored))
    if (!isRight) queue.countFailure(parties)
    return isRight
  }
  return {
    hash: (plain, parties) => queue.run(parties, () => hashing.hash(plain)),
    matches: async (credentials, stored, address) => {
      // No hash is empty.
      const key = digest(credentials, stored ?? '')
      if (known.get(key)) return true
      const checked = checking.get(key) ?? check(credentials, stored, address)
      checking.set(key, checked)
      try {
        const isRight = await checked
        if (isRight) known.set(key, true)
        return isRight
      } finally {
        checking.delete(key)
      }
    },
  }
}
