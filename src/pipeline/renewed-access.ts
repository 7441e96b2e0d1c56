/**
 * Time after which the access of a request is checked again before anything is read or written, in milliseconds. In this time,
 * nearly all bodies arrive. A client can send its body much more slowly: Node.js allows five minutes by default, HTTP/2 any
 * time.
 */
const maxAccessAge = 1000

/**
 * Returns a function to call when the body of a request has arrived. It returns `first`, or if the body has taken long, the
 * result of a new check.
 * @param first what the check has returned just now
 * @param check throws if the request is refused
 */
export function renewAccess<Access>(first: Access, check: () => Promise<Access>): () => Access | Promise<Access> {
  const expires = performance.now() + maxAccessAge
  return () => (performance.now() > expires ? check() : first)
}
