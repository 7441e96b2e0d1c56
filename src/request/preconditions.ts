/**
 * Whether `If-Match` holds for a record's tag: its list has it, by strong comparison, or is `*` (RFC 9110). Without the header it
 * holds.
 */
export function holdsIfMatch(list: string | undefined, tag: string): boolean {
  return list === undefined || list.trim() === '*' || tagsOf(list).includes(tag)
}

/** Whether `If-None-Match` holds: its list lacks the tag, by weak comparison, and is not `*`. Without the header it holds. */
export function holdsIfNoneMatch(list: string | undefined, tag: string): boolean {
  if (list === undefined) return true
  return list.trim() !== '*' && !tagsOf(list).some((one) => one.replace(/^W\//, '') === tag)
}

function tagsOf(list: string): readonly string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? []
}
