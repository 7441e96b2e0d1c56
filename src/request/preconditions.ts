/** The conditional headers of a request, as sent (RFC 9110, Conditional Requests). */
export interface Preconditions {
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
}

/** Whether a list of tags holds this one, by strong comparison; `*` holds any. Without a list everything holds. */
export function isMatch(list: string | undefined, tag: string): boolean {
  return list === undefined || list.trim() === '*' || tagsOf(list).includes(tag)
}

/** Whether a list of tags lacks this one, by weak comparison, as `If-None-Match` asks. Without a list everything holds. */
export function isNoMatch(list: string | undefined, tag: string): boolean {
  if (list === undefined) return true
  return list.trim() !== '*' && !tagsOf(list).some((one) => one.replace(/^W\//, '') === tag)
}

function tagsOf(list: string): readonly string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? []
}
