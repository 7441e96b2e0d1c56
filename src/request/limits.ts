/** Page sizes of the list endpoint, in records (D19). */
export interface PageLimits {
  /** Without `limit` in the request. Default: 20. */
  readonly default: number
  /** The greatest `limit` a request may ask for. Default: 1,000. */
  readonly max: number
}

/** How large a request may be; checked before any work grows with it. */
export const limits = {
  /** Parameters of a query string. */
  parameters: 50,
  /** Characters of a parameter's name. */
  parameterName: 128,
  /** Characters of a parameter's value. */
  parameterValue: 2048,
  /** Filters of a query string. */
  filters: 30,
  /** Members of an `in` list. */
  members: 500,
  /** Characters of a `like` pattern. */
  pattern: 256,
  /** Foreign keys that one filter may follow. */
  joinDepth: 4,
  /** Tables that one request may join. */
  joins: 8,
  /** Records before the end of the deepest page: `page` times `limit`. */
  depth: 1_000_000,
  /** Bytes of a body. */
  body: 1_048_576,
} as const
