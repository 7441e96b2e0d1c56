/** Options of one request. */
export interface RequestOptions {
  /** Aborts the request, also while it waits for a retry. The method then throws the signal's reason. */
  readonly signal?: AbortSignal
}

/** Selection of the fields that records have. */
export interface Selection<Name = string> {
  /** Names of the fields, besides `id`, which records always have. Default: all fields. */
  readonly fields?: readonly Name[]
}

/** Related records that records contain. */
export interface IncludingOptions<Includes> {
  /** Relations whose records are added: `{ author: true, comments: { limit: 5, ordering: '-created' } }`. */
  readonly include?: Includes
}

/** Options of a write. */
export interface WriteOptions extends RequestOptions {
  /** Writes only if the record still has this ETag (see `etagOf`). Otherwise the response is 412. */
  readonly ifMatch?: string | undefined
}

/** Options of a request that the service executes at most once. */
export interface KeyOptions {
  /**
   * Text that is different for each new request, for the header `Idempotency-Key`; false for none. Default: a random one with
   * the client's option `idempotencyKeys`, otherwise none.
   */
  readonly idempotencyKey?: string | false
}

/** Options of a write of all records that match filters. */
export interface MatchingOptions extends RequestOptions {
  /**
   * Maximum number of records that may match. If there are more, the response is 409, and nothing is written. Default: that
   * of the resource.
   */
  readonly max?: number
  /** Words, each of which must occur in a field that the service searches. Only if the resource can be searched. */
  readonly search?: string
}

/** Options of a write that updates the record with the same values in some fields, or creates one. */
export interface UpsertOptions<Name = string> extends RequestOptions, KeyOptions {
  /** The field or fields of a unique constraint. */
  readonly on: Name | readonly Name[]
}
