import { ApiError } from '../errors'

/** One `name=value` pair of a query string or a form. */
export interface Pair {
  readonly name: string
  readonly value: string
  /** The pair as it was sent, not decoded. */
  readonly raw: string
  readonly rawName: string
}

/** Number of characters of an invalid pair that its error message quotes. */
const quotedLength = 60

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Splits and decodes `application/x-www-form-urlencoded` text. Bytes that are not UTF-8 are an error; `URLSearchParams`
 * would put replacement characters in their place.
 * @param text bytes as Latin-1
 * @param maxParts maximum number of parts between `&`, including empty ones; checked before any part is decoded
 * @param code code of the refusal
 * @throws {ApiError} that names the invalid pair
 */
export function parsePairs(text: string, maxParts: number, code: 'bad-query' | 'bad-body'): readonly Pair[] {
  // Splits off at most one part more than is allowed, so that a megabyte of "&" is not split completely.
  const parts = text.split('&', maxParts + 1)
  if (parts.length > maxParts) {
    throw new ApiError(code, `at most ${maxParts} parameters are allowed, this request has more`)
  }
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
      `"${raw.slice(0, quotedLength)}" has a "%" without two hexadecimal digits; write %25 for a percent sign`,
    )
  try {
    return utf8.decode(decodeBytes(text))
  } catch {
    throw new ApiError(code, `"${raw.slice(0, quotedLength)}" is not UTF-8`)
  }
}

/**
 * Decodes `+` and `%XX`. A loop over the bytes, because replacing each `%XX` of a form of 1 MiB by a function blocks the
 * event loop for 285 ms.
 */
function decodeBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  let end = 0
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0
    if (byte === percent) bytes[end++] = (hexDigit(bytes[++index]) << 4) | hexDigit(bytes[++index])
    else bytes[end++] = byte === plus ? space : byte
  }
  return bytes.subarray(0, end)
}

const [percent = 0, plus = 0, space = 0] = Buffer.from('%+ ')

/** Value of a hexadecimal digit. @param code character code of 0 to 9, a to f or A to F */
function hexDigit(code = 0): number {
  return (code & 15) + (code >> 6) * 9
}
