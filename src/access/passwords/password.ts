import { hash, verify } from '@node-rs/argon2'

/**
 * Parameters of argon2id from OWASP's password storage cheat sheet (its first recommendation for argon2id): 19 MiB, 2
 * passes, 1 lane.
 */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/**
 * Prefix of the hashes that `hashPassword` returns: algorithm, version and parameters.
 */
export const currentCost = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=${parameters.parallelism}`

/** Length of the hashes that `hashPassword` returns, in characters. */
export const hashLength = 97

/**
 * Hashes a password with argon2id and a random salt.
 * @returns a hash in PHC string format (97 characters)
 * @throws {TypeError} for a value that is not a string, such as a missing environment variable
 */
export async function hashPassword(plain: string): Promise<string> {
  // The message contains the type only: the value may be a password.
  if (typeof plain !== 'string') throw new TypeError(`hashPassword() needs a string, not ${typeof plain}`)
  return hash(plain, parameters)
}

/** Whether a password matches a stored hash. False if `stored` is not an argon2 hash. */
export async function verifyPassword(plain: string, stored: string): Promise<boolean> {
  try {
    return await verify(stored, plain)
  } catch {
    return false
  }
}

/**
 * Functions that hash and verify passwords. An application that already stores other hashes sets its own functions, as
 * `hash` and `verify` of `@UserAccount`.
 */
export interface PasswordHashing {
  readonly hash: (plain: string) => string | Promise<string>
  readonly verify: (plain: string, hash: string) => boolean | Promise<boolean>
}

/** The default: argon2id with {@link parameters}. */
export const argon2id: PasswordHashing = { hash: hashPassword, verify: verifyPassword }
