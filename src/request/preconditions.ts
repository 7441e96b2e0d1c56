/**
 * Whether the precondition `If-Match` holds for the ETag of a record (RFC 9110): the header is missing, is `*`, or
 * lists the tag by strong comparison.
 */
export function holdsIfMatch(list: string | undefined, tag: string): boolean {
  return list === undefined || list.trim() === '*' || tagsOf(list).includes(tag)
}

/**
 * Whether the precondition `If-None-Match` holds for the ETag of a record or a list (RFC 9110): the header is missing, or is not
 * `*` and does not list the tag by weak comparison.
 */
export function holdsIfNoneMatch(list: string | undefined, tag: string): boolean {
  if (list === undefined) return true
  return list.trim() !== '*' && !tagsOf(list).some((listed) => withoutWeakness(listed) === withoutWeakness(tag))
}

const withoutWeakness = (tag: string): string => tag.replace(/^W\//, '')

function tagsOf(list: string): readonly string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? []
}
