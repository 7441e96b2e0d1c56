import { createHmac, hash, timingSafeEqual } from 'node:crypto'

/** Exact value of a sort column, in a form that JSON keeps without loss. */
export type CursorValue = string | number | null

/**
 * Maximum total length of the texts in a cursor, in characters. It applies even if `limits.parameterValue` is greater:
 * with the default settings of Node.js, the path and the headers of a request have at most 16 KiB together. Longer texts
 * need not be read completely for cursors.
 */
export const maxCursorTextLength = 8192

/** Position of a page in keyset paging: the page has the rows after or before it. */
export interface Cursor {
  readonly direction: 'after' | 'before'
  /**
   * Values of the sort columns at the position. Undefined for the start of the order if the direction is `after`, and
   * for its end if the direction is `before`.
   */
  readonly values: readonly CursorValue[] | undefined
  /**
   * Number of records between the position and the page: 0, unless no token can hold the position of the record before
   * the page.
   */
  readonly skip: number
}

/** Length of the digest at the start of a token, in characters of base64url: 96 bits. */
const digestLength = 16

/** Writes and reads the tokens of keyset paging. */
export interface CursorTokens {
  /** @param orderingId identifies the resource and its ordering; `read` accepts the token only with the same identifier */
  readonly write: (cursor: Cursor, orderingId: string) => string
  /** @returns undefined if the token was not written by `write` with the same `orderingId` */
  readonly read: (token: string, orderingId: string) => Cursor | undefined
}

/**
 * Builds the reader and writer of tokens. A token is a digest of the ordering and the content, followed by the content.
 * @param secret key of the digest (HMAC-SHA-256). Without it, the digest detects damaged tokens but not forged ones. A
 * forged token selects nothing that a filter on the same fields could not select.
 */
export function buildCursorTokens(secret: string | undefined): CursorTokens {
  const hashOf = (text: string): string =>
    secret === undefined
      ? hash('sha256', text, 'base64url')
      : createHmac('sha256', secret).update(text).digest('base64url')
  const digestOf = (content: string, orderingId: string): string =>
    hashOf(`${orderingId}\n${content}`).slice(0, digestLength)
  return {
    write: ({ direction, values, skip }, orderingId) => {
      const json = JSON.stringify([skip === 0 ? direction : `${direction}+${skip}`, ...(values ?? [])])
      const content = Buffer.from(json).toString('base64url')
      return `${digestOf(content, orderingId)}${content}`
    },
    read: (token, orderingId) => {
      const content = token.slice(digestLength)
      const received = Buffer.from(token.slice(0, digestLength))
      const expected = Buffer.from(digestOf(content, orderingId))
      if (received.length !== expected.length || !timingSafeEqual(received, expected)) return undefined
      return toCursor(parseJson(Buffer.from(content, 'base64url').toString()))
    },
  }
}

/** Converts the content of a token to a cursor. Checks every part, because without a secret tokens can be forged. */
function toCursor(content: unknown): Cursor | undefined {
  if (!Array.isArray(content)) return undefined
  const [start, ...values]: readonly unknown[] = content
  const [, direction, skip = 0] = /^(after|before)(?:\+([1-9]\d{0,8}))?$/.exec(String(start)) ?? []
  if (direction !== 'after' && direction !== 'before') return undefined
  if (!values.every(isCursorValue)) return undefined
  return { direction, values: values.length === 0 ? undefined : values, skip: Number(skip) }
}

/** Whether a value is a text, a finite number or null, which JSON keeps without loss. */
export function isCursorValue(value: unknown): value is CursorValue {
  return typeof value === 'number' ? Number.isFinite(value) : value === null || typeof value === 'string'
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
