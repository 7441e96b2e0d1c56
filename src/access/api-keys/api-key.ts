import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { CredentialAction } from '../authenticator'

/**
 * Letters and digits of keys. They are lower case, because some databases compare text without regard to case, and 32, so
 * that each one stands for five random bits.
 */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
const prefixLetters = 12
const secretLetters = 32

/** Matches a key: `ak_` and 60 random bits, which find its record, then 160 random bits, which are the secret. */
const keyPattern = new RegExp(`^(ak_[a-z2-7]{${prefixLetters}})_([a-z2-7]{${secretLetters}})$`)

/** Length of the prefix of a key, with `ak_`, in characters. */
export const apiKeyPrefixLength = prefixLetters + 3
/** Length of the hash of a secret, in characters. */
export const apiKeyHashLength = 64

/** The two parts of a key. */
export interface ApiKeyParts {
  /** Finds the record of the key. It is not secret. */
  readonly prefix: string
  readonly secret: string
}

/** A new key, with what is stored of it. */
export interface NewApiKey {
  /** The text that the client sends. It is shown once and stored nowhere. */
  readonly key: string
  readonly prefix: string
  readonly hash: string
}

export function generateApiKey(): NewApiKey {
  const prefix = `ak_${randomLetters(prefixLetters)}`
  const secret = randomLetters(secretLetters)
  return { key: `${prefix}_${secret}`, prefix, hash: digestOf(secret).toString('hex') }
}

/** @returns undefined for text that is not a key */
export function parseApiKey(text: string): ApiKeyParts | undefined {
  const [, prefix, secret] = keyPattern.exec(text) ?? []
  return prefix === undefined || secret === undefined ? undefined : { prefix, secret }
}

function randomLetters(count: number): string {
  return Array.from(randomBytes(count), (byte) => alphabet[byte % alphabet.length]).join('')
}

/**
 * The digest of a secret. SHA-256 is sufficient, because nobody can guess 160 random bits; the slow hashes for passwords
 * protect secrets that people choose.
 */
function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

/** Compared with the secret of an unknown key, so that this does the same work as a wrong secret. */
const decoyHash = generateApiKey().hash

const hashPattern = /^[\da-f]{64}$/

/** Whether a secret has this hash, in constant time. @param stored the stored hash; undefined for an unknown key */
export function hasHash(secret: string, stored: unknown): boolean {
  const isHash = typeof stored === 'string' && hashPattern.test(stored)
  const expected = Buffer.from(isHash ? stored : decoyHash, 'hex')
  return timingSafeEqual(digestOf(secret), expected) && isHash
}

/** The actions that a key permits, by the name of the resource. */
export type ApiKeyPermissions = Readonly<Record<string, readonly CredentialAction[]>>

/** Names of the actions that a key can permit. */
export const apiKeyActions: readonly CredentialAction[] = ['read', 'create', 'update', 'delete']

/** Whether a value is what {@link ApiKeyPermissions} describes. */
export function areApiKeyPermissions(value: unknown): value is ApiKeyPermissions {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.values(value).every((actions) => Array.isArray(actions) && actions.every(isAction))
}

function isAction(value: unknown): boolean {
  return apiKeyActions.some((action) => action === value)
}

/** @returns undefined for anything but JSON text */
export function parseJson(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}
