import type { AccessRequest } from '../access/rule'

/** Maximum length of a header `Accept` that is parsed: the time of the parser grows with the square of the length. */
const maxLength = 1024

/**
 * The media type that the header `Accept` of a request prefers (RFC 9110, section 12.5.1).
 * @param types media types that the service can respond with
 * @returns the first of the equally preferred types, or of all if there is no header or it is longer than 1,024 characters; undefined
 * if none of the types is acceptable
 */
export function preferredType<Type extends string>(
  context: AccessRequest['context'],
  types: readonly [Type, ...Type[]],
): Type | undefined {
  const { accept = '' } = context.headers
  if (accept.length > maxLength) return types[0]
  const preferred = context.accepts([...types])
  return types.find((type) => type === preferred)
}
