/** Page sizes of the list endpoint, in records (specification: Unknown parameters). */
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
  /** Members of all `in` lists of a request: each is a parameter of its statement. Default: 1,000. */
  readonly allMembers: number
  /** Characters of a `like` or `ilike` pattern. Default: 256. */
  readonly pattern: number
  /** Characters of all patterns of a request: each is compared with every record. Default: 512. */
  readonly allPatterns: number
  /**
   * Comparisons that all patterns of a request may cost for each character of a text: one for each pattern, and one for each time
   * that what follows a `%` repeats its own beginning. Default: 16.
   */
  readonly patternCost: number
  /** Relations that one filter may follow. Default: 4. */
  readonly joinDepth: number
  /** Tables that one request may join; one through a relation to many counts twice. Default: 8. */
  readonly joins: number
  /** Records before the end of the deepest page: `page` times `limit`. Default: 1,000,000. */
  readonly depth: number
  /** Records that `count=capped` counts at most. Default: 10,000. */
  readonly count: number
  /** Bytes of a body. Default: 1,048,576. */
  readonly body: number
  /** Values of all arrays and objects of a body, at all levels. Default: 20,000. */
  readonly bodyValues: number
  /** Passwords that the site hashes at a time. Default: 2. */
  readonly concurrentPasswords: number
  /** Passwords that wait to be hashed; more are answered with 503. Default: 32. */
  readonly queuedPasswords: number
  /** Bytes that the records of a page have in the database, of which it holds at least one. Default: 16 MiB. */
  readonly pageBytes: number
  /** Bytes that one record may have in the database to be shown. Default: 64 MiB. */
  readonly itemBytes: number
  /** Bytes of large responses that the process is reading or sending; more are answered with 503. Default: 128 MiB. */
  readonly responseBytes: number
  /** Requests of one connection that wait for the response to the one before; more are answered with 503. Default: 32. */
  readonly pipelined: number
}

/** All limits of a mount. */
export interface Limits extends RequestLimits {
  readonly page: PageLimits
}

/**
 * The greatest value of `pageBytes` and `itemBytes`: 64 MiB. JSON may be six times as long as what it says, as for control
 * characters, and V8 has no strings of more than 512 MiB.
 */
export const maxRecordBytes = 64 * 1024 * 1024

export const defaultLimits: RequestLimits = {
  parameters: 50,
  parameterName: 128,
  parameterValue: 2048,
  filters: 30,
  members: 500,
  allMembers: 1000,
  pattern: 256,
  allPatterns: 512,
  patternCost: 16,
  joinDepth: 4,
  joins: 8,
  depth: 1_000_000,
  count: 10_000,
  body: 1_048_576,
  bodyValues: 20_000,
  concurrentPasswords: 2,
  queuedPasswords: 32,
  pageBytes: 16 * 1024 * 1024,
  itemBytes: maxRecordBytes,
  responseBytes: 128 * 1024 * 1024,
  pipelined: 32,
}
