import { hash, verify } from '@node-rs/argon2'

/** argon2id with the parameters that OWASP's password storage cheat sheet names first: 19 MiB, 2 passes, 1 lane. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** The beginning of every hash that `hashPassword` makes. */
export const currentCost = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=${parameters.parallelism}`

/** Characters of a hash that `hashPassword` makes. */
export const hashLength = 97

/** The argon2id hash of a password, in PHC string format (97 characters), with a salt of its own. */
export function hashPassword(plain: string): Promise<string> {
  return hash(plain, parameters)
}

/** Whether the hash was made of this password. False for a text that is no argon2 hash. */
export async function verifyPassword(plain: string, stored: string): Promise<boolean> {
  try {
    return await verify(stored, plain)
  } catch {
    return false
  }
}

/** The site's own way of hashing, for hashes that exist already. Default: argon2id. */
export interface PasswordHashing {
  readonly hash: (plain: string) => string | Promise<string>
  readonly verify: (plain: string, hash: string) => boolean | Promise<boolean>
}

export const argon2id: PasswordHashing = { hash: hashPassword, verify: verifyPassword }
