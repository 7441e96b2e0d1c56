import { hash as digestOf, randomBytes } from 'node:crypto'
import { Semaphore } from 'async-mutex'
import { LRUCache } from 'lru-cache'
import { unavailable } from '../errors'
import type { Credentials } from './credentials'
import type { PasswordHashing } from './password'

/** Passwords that were right are remembered for so many users. */
const remembered = 1000

/** The hashing of one site, with a limit on how much of it goes on. */
export interface PasswordChecks {
  /** @throws {ApiError} `unavailable`, when too many wait already */
  readonly hash: (plain: string) => Promise<string>
  /**
   * Whether a password is the one of this stored hash. What was right once need not be hashed again, as long as the same hash
   * is stored.
   * @throws {ApiError} `unavailable`, when too many wait already
   */
  readonly matches: (credentials: Credentials, stored: string) => Promise<boolean>
}

/**
 * Neither passwords nor hashes are kept: what is remembered is a digest of both under a key that nobody knows.
 * @param running how many are hashed at a time, since hashing takes most of a core, and the threads of libuv's pool, which files and the `sqlite3` driver need too
 * @param waiting how many may wait for it
 */
export function buildPasswordChecks(
  { hash, verify }: PasswordHashing,
  running: number,
  waiting: number,
): PasswordChecks {
  const places = new Semaphore(running)
  let queued = 0
  const inTurn = async <T>(work: () => T | Promise<T>): Promise<T> => {
    if (queued >= running + waiting) throw unavailable('too many passwords are being checked')
    queued += 1
    try {
      return await places.runExclusive(work)
    } finally {
      queued -= 1
    }
  }
  const secret = randomBytes(32).toString('base64')
  const known = new LRUCache<string, true>({ max: remembered })
  /** The same asked many times at once is one check. */
  const checking = new Map<string, Promise<boolean>>()
  const digest = ({ username, password }: Credentials, stored: string): string => {
    const texts = [secret, username, password, stored].map((text) => `${text.length}:${text}`)
    return digestOf('sha256', texts.join(''), 'base64')
  }
  return {
    hash: (plain) => inTurn(() => hash(plain)),
    matches: async (credentials, stored) => {
      const key = digest(credentials, stored)
      if (known.get(key)) return true
      const check = checking.get(key) ?? inTurn(() => verify(credentials.password, stored))
      checking.set(key, check)
      try {
        const isRight = await check
        if (isRight) known.set(key, true)
        return isRight
      } finally {
        checking.delete(key)
      }
    },
  }
}
