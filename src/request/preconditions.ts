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

/**
 * Advice for an `If-Match` that matches no record, as the end of a sentence about the record.
 * @param list value of the header, which does not match
 */
export function adviceForIfMatch(list: string): string {
  const tags = tagsOf(list)
  if (tags.length === 0) {
    const example = /^[\w.+/=-]{1,64}$/.test(list) ? list : '…'
    return `, because an ETag has double quotes: send it as in the response, If-Match: "${example}"`
  }
  return tags.every((tag) => tag.startsWith('W/'))
    ? ', because a weak ETag (W/"…") matches nothing: send that of the record, without W/'
    : '; read it again'
}

const withoutWeakness = (tag: string): string => tag.replace(/^W\//, '')

function tagsOf(list: string): readonly string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? []
}
