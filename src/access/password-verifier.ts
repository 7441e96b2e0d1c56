import { randomBytes, randomUUID } from 'node:crypto'
import { verify } from '@node-rs/argon2'
import { argon2id, currentCost, type PasswordHashing } from './password'

/**
 * Whether a password is the one of a stored hash. A wrong password costs the same for every user, and the same as for `undefined`, which is
 * no user's: so that response times do not tell who exists.
 */
export type PasswordVerifier = (plain: string, stored: string | undefined) => Promise<boolean>

export function buildPasswordVerifier(hashing: PasswordHashing): PasswordVerifier {
  return hashing === argon2id ? buildArgon2Verifier() : buildCustomVerifier(hashing)
}

/** What a check of an argon2 hash costs: algorithm, version and parameters, at the beginning of its PHC string. */
const costPattern = /^\$argon2(?:id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+(?=\$)/

/** Costs that are made equal: of the hashes that `hashPassword` makes, and of three kinds besides. */
const maxCosts = 4

/**
 * A password that is wrong is compared with one hash of each cost that has been met so far. Which of these is the user's own does not matter
 * for the time that it takes.
 */
function buildArgon2Verifier(): PasswordVerifier {
  /** By cost, a hash of no password. */
  const decoys = new Map([[currentCost, `${currentCost}$${randomText(16)}$${randomText(32)}`]])
  return async (plain, stored) => {
    const compared = stored === undefined ? undefined : await compare(plain, stored)
    const cost = compared && costPattern.exec(compared.hash)?.[0]
    if (compared !== undefined && cost !== undefined && !decoys.has(cost) && decoys.size < maxCosts) {
      decoys.set(cost, decoyLike(compared.hash))
    }
    if (compared?.isRight) return true
    for (const [other, decoy] of decoys) if (other !== cost) await verify(decoy, plain)
    return false
  }
}

/** @returns undefined for a text that is no argon2 hash, with which nothing is computed */
async function compare(plain: string, hash: string): Promise<{ isRight: boolean; hash: string } | undefined> {
  try {
    return { isRight: await verify(hash, plain), hash }
  } catch {
    return undefined
  }
}

/** A hash of no password that costs what this one does. */
function decoyLike(hash: string): string {
  return hash.replace(/[^$]*$/, (digest) => randomText(Math.floor((digest.length * 3) / 4)))
}

/** So many random bytes, as PHC strings have them. */
function randomText(bytes: number): string {
  return randomBytes(bytes).toString('base64').replaceAll('=', '')
}

/** A site's own hashing: the cost of a password for nobody is that of a hash which `hash` makes. */
function buildCustomVerifier(hashing: PasswordHashing): PasswordVerifier {
  let decoy: Promise<string> | undefined
  const makeDecoy = async (): Promise<string> => hashing.hash(randomUUID())
  return async (plain, stored) => {
    // Before the first check of any user.
    decoy ??= makeDecoy().catch((error: unknown) => {
      decoy = undefined
      throw error
    })
    const other = await decoy
    if (stored !== undefined) return hashing.verify(plain, stored)
    await hashing.verify(plain, other)
    return false
  }
}
