/**
 * Time after which the access of a request is checked again before anything is read or written, in milliseconds. In this time,
 * nearly all bodies arrive. A client can send its body much more slowly: Node.js allows five minutes by default, HTTP/2 any
 * time.
 */
const maxAccessAge = 1000

/** The access of a request whose body arrives after the check. */
export interface RenewedAccess<Access> {
  /** What the first check has returned. */
  readonly first: Access
  /** Call it when the body has arrived: returns `first`, or if this has taken long, the result of a new check. */
  readonly afterBody: () => Promise<Access>
}

/** Checks the access of a request, and once more if its body takes long. @param check throws if the request is refused */
export async function renewAccess<Access>(check: () => Promise<Access>): Promise<RenewedAccess<Access>> {
  const first = await check()
  const expires = performance.now() + maxAccessAge
  return { first, afterBody: async () => (performance.now() > expires ? check() : first) }
}
