/** Page sizes of the list endpoint, in records (D19). */
export interface PageLimits {
  /** Without `limit` in the request. Default: 20. */
  readonly default: number
  /** The greatest `limit` a request may ask for. Default: 1,000. */
  readonly max: number
}

/** How much may be asked for: integers from 1. Checked before any work grows with it. */
export interface RequestLimits {
  /** Parameters of a query string. Default: 50. */
  readonly parameters: number
  /** Characters of a parameter's name. Default: 128. */
  readonly parameterName: number
  /** Characters of a parameter's value. Default: 2,048. */
  readonly parameterValue: number
  /** Filters of a query string. Default: 30. */
  readonly filters: number
  /** Members of an `in` list. Default: 500. */
  readonly members: number
  /** Characters of a `like` or `ilike` pattern. Default: 256. */
  readonly pattern: number
  /** Characters of all patterns of a request: each is compared with every record. Default: 512. */
  readonly allPatterns: number
  /** Relations that one filter may follow. Default: 4. */
  readonly joinDepth: number
  /** Tables that one request may join. Default: 8. */
  readonly joins: number
  /** Records before the end of the deepest page: `page` times `limit`. Default: 1,000,000. */
  readonly depth: number
  /** Bytes of a body. Default: 1,048,576. */
  readonly body: number
  /** Passwords that the site hashes at a time. Default: 2. */
  readonly concurrentPasswords: number
  /** Passwords that wait to be hashed; more are answered with 503. Default: 32. */
  readonly queuedPasswords: number
}

/** All limits of a mount. */
export interface Limits extends RequestLimits {
  readonly page: PageLimits
}

export const defaultLimits: RequestLimits = {
  parameters: 50,
  parameterName: 128,
  parameterValue: 2048,
  filters: 30,
  members: 500,
  pattern: 256,
  allPatterns: 512,
  joinDepth: 4,
  joins: 8,
  depth: 1_000_000,
  body: 1_048_576,
  concurrentPasswords: 2,
  queuedPasswords: 32,
}
