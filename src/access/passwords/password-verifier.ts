import { randomBytes, randomUUID } from 'node:crypto'
import { verify } from '@node-rs/argon2'
import { argon2id, currentCost, type PasswordHashing } from './password'

/**
 * Checks whether a password matches a stored hash. A wrong password takes the same time for every user, and for
 * `undefined`, which stands for no user, so that response times do not reveal which users exist.
 */
export type PasswordVerifier = (plain: string, stored: string | undefined) => Promise<boolean>

export function buildPasswordVerifier(hashing: PasswordHashing): PasswordVerifier {
  return hashing === argon2id ? buildArgon2Verifier() : buildCustomVerifier(hashing)
}

/**
 * Matches the algorithm and version, and the list of parameters, at the beginning of the PHC string of an argon2 hash. Hashes of
 * version 16 may have no version.
 */
const costPattern = /^(\$argon2(?:id|i|d)(?:\$v=\d+)?)\$([^$]*)\$/

/**
 * The cost of an argon2 hash: its algorithm, version and parameters. These may be in any order, with others that do not affect the
 * time, such as `keyid`.
 * @returns undefined if the text is not an argon2 hash
 */
function costOf(hash: string): string | undefined {
  const [, algorithm, list] = costPattern.exec(hash) ?? []
  const parameters = list?.split(',').filter((parameter) => /^[mtp]=/.test(parameter))
  return parameters && `${algorithm}$${parameters.sort().join()}`
}

/** Greatest number of different costs that are compensated: that of `hashPassword`, and three others. */
const maxCosts = 4

/**
 * Verifier for argon2 hashes. A wrong password is compared with one hash of each cost that has occurred so far, so that
 * the time does not depend on which of them the user's own hash has.
 */
function buildArgon2Verifier(): PasswordVerifier {
  const ownDecoy = `${currentCost}$${randomText(16)}$${randomText(32)}`
  /** Hashes that match no password, by cost. */
  const decoys = new Map([[costOf(ownDecoy), ownDecoy]])
  return async (plain, stored) => {
    const result = stored === undefined ? undefined : await compare(plain, stored)
    const cost = result && costOf(result.hash)
    if (result !== undefined && cost !== undefined && !decoys.has(cost) && decoys.size < maxCosts) {
      decoys.set(cost, decoyLike(result.hash))
    }
    if (result?.isCorrect) return true
    for (const [other, decoy] of decoys) if (other !== cost) await verify(decoy, plain)
    return false
  }
}

/**
 * Compares a password with a hash.
 * @returns undefined if the text is not an argon2 hash; then no time is spent on hashing
 */
async function compare(plain: string, hash: string): Promise<{ isCorrect: boolean; hash: string } | undefined> {
  try {
    return { isCorrect: await verify(hash, plain), hash }
  } catch {
    return undefined
  }
}

/** Creates a hash that matches no password and has the same cost as this hash. */
function decoyLike(hash: string): string {
  return hash.replace(/[^$]*$/, (digest) => randomText(Math.floor((digest.length * 3) / 4)))
}

/** Random bytes in the base64 form of PHC strings. */
function randomText(bytes: number): string {
  return randomBytes(bytes).toString('base64').replaceAll('=', '')
}

/**
 * Verifier for the application's own hashing. Without a user, a password is compared with a hash that `hash` has created, and
 * is wrong.
 */
function buildCustomVerifier(hashing: PasswordHashing): PasswordVerifier {
  let decoy: Promise<string> | undefined
  const createDecoy = async (): Promise<string> => hashing.hash(randomUUID())
  return async (plain, stored) => {
    // Created before the first check, whether or not the user exists, so that its time does not differ.
    decoy ??= createDecoy().catch((error: unknown) => {
      decoy = undefined
      throw error
    })
    const decoyHash = await decoy
    try {
      if (stored !== undefined) return await hashing.verify(plain, stored)
    } catch {
      // The stored text may not be a hash. If `verify` fails for the other hash too, the application has a fault.
    }
    await hashing.verify(plain, decoyHash)
    return false
  }
}
