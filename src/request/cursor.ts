import { createHmac, hash, timingSafeEqual } from 'node:crypto'

/** A value of a sort column, spelled so that nothing of it is lost. */
export type CursorValue = string | number | null

/** Where a page begins: behind or before a place in the order. */
export interface Cursor {
  readonly direction: 'after' | 'before'
  /** The values of the sort columns; none for the end that the direction leads from. */
  readonly values: readonly CursorValue[] | undefined
  /** Records between there and the page: of a page that follows one whose last record no token can name. */
  readonly skip: number
}

/** Characters of a token that say that it is as it was given out: 96 bits. */
const sealLength = 16

/** Writes tokens of keyset paging, and reads them. */
export interface CursorTokens {
  /** @param order what the place is a place in: a token of another order is none */
  readonly write: (start: Cursor, order: string) => string
  /** @returns undefined for what was not written so */
  readonly read: (token: string, order: string) => Cursor | undefined
}

/**
 * @param secret without one, a token shows whether it was damaged, not whether it was made up: which lets nobody ask for what a filter
 * on the same fields could not
 */
export function buildCursorTokens(secret: string | undefined): CursorTokens {
  const digest = (text: string): string =>
    secret === undefined
      ? hash('sha256', text, 'base64url')
      : createHmac('sha256', secret).update(text).digest('base64url')
  const seal = (content: string, order: string): string => digest(`${order}\n${content}`).slice(0, sealLength)
  return {
    write: ({ direction, values, skip }, order) => {
      const json = JSON.stringify([skip === 0 ? direction : `${direction}+${skip}`, ...(values ?? [])])
      const content = Buffer.from(json).toString('base64url')
      return `${seal(content, order)}${content}`
    },
    read: (token, order) => {
      const content = token.slice(sealLength)
      const [given, own] = [Buffer.from(token.slice(0, sealLength)), Buffer.from(seal(content, order))]
      if (given.length !== own.length || !timingSafeEqual(given, own)) return undefined
      return toCursor(parseJson(Buffer.from(content, 'base64url').toString()))
    },
  }
}

/** Without a secret anybody can seal anything. */
function toCursor(content: unknown): Cursor | undefined {
  if (!Array.isArray(content)) return undefined
  const [start, ...place]: readonly unknown[] = content
  const [, direction, skip = 0] = /^(after|before)(?:\+([1-9]\d{0,8}))?$/.exec(String(start)) ?? []
  if (direction !== 'after' && direction !== 'before') return undefined
  if (!place.every(isCursorValue)) return undefined
  return { direction, values: place.length === 0 ? undefined : place, skip: Number(skip) }
}

/** Whether JSON gives it back as it is. */
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
