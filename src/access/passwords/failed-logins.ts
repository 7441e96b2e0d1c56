import { hash } from 'node:crypto'
import { ApiError } from '../../errors'
import { networkOf } from '../client-network'

/**
 * Counter of failures by key. The classes of the package `rate-limiter-flexible` have this interface, for example
 * `RateLimiterMemory` and `RateLimiterRedis`.
 */
export interface LoginLimiter {
  /** Number of failures after which a key is refused. */
  readonly points: number
  /** Resolves to the failures of a key so far; null for none. */
  readonly get: (key: string) => Promise<FailureCount | null>
  /** Counts a failure. It rejects with an `Error` if the store has failed, and with another value beyond the limit. */
  readonly consume: (key: string) => Promise<unknown>
}

/** Failures of a key. */
export interface FailureCount {
  readonly consumedPoints: number
  /** Time until the failures are forgotten, in milliseconds. */
  readonly msBeforeNext: number
}

/** Limits on wrong passwords. */
export interface FailedLoginLimits {
  /** Counts by user name, whether or not there is such a user. The key is the SHA-256 digest of the name in base64url. */
  readonly byName?: LoginLimiter
  /** Counts by network address: an IPv4 address, or the first 64 bits of an IPv6 address. */
  readonly byAddress?: LoginLimiter
}

/** Counts the wrong passwords of names and addresses. */
export interface FailedLogins {
  /** Refuses a login with too many failures before it. @throws {ApiError} `too-many-requests` */
  readonly requireFew: (name: string, address: string) => Promise<void>
  readonly count: (name: string, address: string) => Promise<void>
}

/** Maximum time that a login waits for the store of a limiter, in milliseconds. */
const storeTimeoutMs = 500
/** Time after an error of a store during which its limiter is not used, in milliseconds. */
const pauseMs = 5000

/**
 * Builds the counters. If the store of a limiter fails or does not answer, logins are permitted, because the loss of a
 * store must not lock out all users.
 * @param warn logs that a limiter cannot be used
 */
export function buildFailedLogins(
  { byName, byAddress }: FailedLoginLimits,
  warn: (message: string) => void,
): FailedLogins {
  const names = byName && guardLimiter('byName', byName, warn)
  const addresses = byAddress && guardLimiter('byAddress', byAddress, warn)
  const limitersOf = (name: string, address: string): readonly (readonly [GuardedLimiter, string])[] => {
    const network = networkOf(address)
    return [
      ...(names === undefined ? [] : [[names, hash('sha256', name, 'base64url')] as const]),
      ...(addresses === undefined || network === '' ? [] : [[addresses, network] as const]),
    ]
  }
  return {
    requireFew: async (name, address) => {
      const waits = await Promise.all(limitersOf(name, address).map(([limiter, key]) => limiter.waitMs(key)))
      const longestWaitMs = Math.max(0, ...waits)
      if (longestWaitMs > 0) throw tooManyFailures(longestWaitMs)
    },
    count: async (name, address) => {
      await Promise.all(limitersOf(name, address).map(([limiter, key]) => limiter.count(key)))
    },
  }
}

function tooManyFailures(waitMs: number): ApiError {
  const headers = { 'Retry-After': String(Math.ceil(waitMs / 1000)) }
  return new ApiError('too-many-requests', 'too many wrong passwords; try again later', { headers })
}

/** Limiter whose store may fail. */
interface GuardedLimiter {
  /** Time until a key may try again, in milliseconds; 0 if it may now. */
  readonly waitMs: (key: string) => Promise<number>
  readonly count: (key: string) => Promise<void>
}

/** Uses a limiter only while its store works. @param option name of the limiter, for the warning */
function guardLimiter(
  option: keyof FailedLoginLimits,
  limiter: LoginLimiter,
  warn: (message: string) => void,
): GuardedLimiter {
  let pausedUntil = 0
  const callStore = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    if (Date.now() < pausedUntil) return undefined
    try {
      return await inTime(work)
    } catch (error) {
      // `consume` rejects with the count if this failure is beyond the limit.
      if (!(error instanceof Error)) return undefined
      pausedUntil = Date.now() + pauseMs
      warn(`failed logins are not limited for ${pauseMs / 1000} s, because "failedLogins.${option}": ${error.message}`)
      return undefined
    }
  }
  return {
    waitMs: async (key) => {
      const failures = await callStore(() => limiter.get(key))
      if (!failures || failures.consumedPoints < limiter.points) return 0
      return Math.max(1, failures.msBeforeNext)
    },
    count: async (key) => void (await callStore(() => limiter.consume(key))),
  }
}

/** Waits for the result of `work` for a limited time. @throws an error of `work`, or if it takes too long */
async function inTime<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the store does not answer')), storeTimeoutMs)
  })
  try {
    return await Promise.race([work(), timeout])
  } finally {
    clearTimeout(timer)
  }
}
