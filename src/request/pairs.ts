import { ApiError } from '../errors'

/** One `name=value` of a query string or a form, decoded, and as it was sent. */
export interface Pair {
  readonly name: string
  readonly value: string
  readonly raw: string
  readonly rawName: string
}

/** Characters of a wrong pair that its error repeats. */
const shown = 60

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Splits `application/x-www-form-urlencoded` text. Unlike `URLSearchParams` it puts no replacement character where bytes
 * are not UTF-8: what cannot be read is an error.
 * @param text bytes as Latin-1
 * @param most parts between `&` that it may have, the empty ones too; they are counted before any is decoded
 * @param code of the refusal
 * @throws {ApiError} naming the pair that is wrong
 */
export function parsePairs(text: string, most: number, code: 'bad-query' | 'bad-body'): readonly Pair[] {
  // One more than allowed is enough to know: a megabyte of "&" is not split as a whole.
  const parts = text.split('&', most + 1)
  if (parts.length > most) throw new ApiError(code, `at most ${most} parameters are allowed, these are more`)
  const pairs: Pair[] = []
  for (const raw of parts) {
    if (raw === '') continue
    const equals = raw.indexOf('=')
    const rawName = equals < 0 ? raw : raw.slice(0, equals)
    const value = equals < 0 ? '' : raw.slice(equals + 1)
    pairs.push({ name: decode(rawName, raw, code), value: decode(value, raw, code), raw, rawName })
  }
  return pairs
}

function decode(text: string, raw: string, code: 'bad-query' | 'bad-body'): string {
  if (!/[%+\x80-\xff]/.test(text)) return text
  if (/%(?![\da-f]{2})/i.test(text))
    throw new ApiError(
      code,
      `"${raw.slice(0, shown)}" has a "%" without two hexadecimal digits; write %25 for a percent sign`,
    )
  const bytes = text
    .replaceAll('+', ' ')
    .replace(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'))
  } catch {
    throw new ApiError(code, `"${raw.slice(0, shown)}" is not UTF-8`)
  }
}
