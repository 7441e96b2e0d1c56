/** Page sizes of lists, in records (specification: Pages). */
export interface PageLimits {
  /** Page size of a request without `limit`. Default: 20. */
  readonly default: number
  /** Maximum `limit` of a request. Default: 1,000. */
  readonly max: number
}

/** Limits on the size and cost of requests: integers from 1. Each is checked before the work that it limits. */
export interface RequestLimits {
  /** Number of parameters in a query string, and of fields in a form. Default: 50. */
  readonly parameters: number
  /** Length of a parameter's name, in characters. Default: 128. */
  readonly parameterName: number
  /** Length of a parameter's value, in characters. Default: 2,048. */
  readonly parameterValue: number
  /** Number of filters in a query string. Default: 30. */
  readonly filters: number
  /** Number of members of an `in` list. Default: 500. */
  readonly members: number
  /** Number of values in all filters of a request, not only in `in` lists: each is a bind parameter. Default: 1,000. */
  readonly allMembers: number
  /** Length of a `like` or `ilike` pattern, in characters. Default: 256. */
  readonly pattern: number
  /** Total length of all patterns of a request, in characters: each is compared with every record. Default: 512. */
  readonly allPatterns: number
  /**
   * Number of comparisons that all patterns of a request may need for each character of a text: one for each pattern, and one
   * for each further start of a match that can be open at the same time. For `%aaa` there are two. Default: 16.
   */
  readonly patternCost: number
  /** Number of relations that one filter may follow. Default: 4. */
  readonly joinDepth: number
  /**
   * Number of tables that one request may join; a table joined by a to-many relation counts twice. Default: 8. Maximum: 14.
   */
  readonly joins: number
  /**
   * Maximum number of records up to the end of a page. With page numbers, these are `page` times `limit`. For a page after a
   * token (`after`), they are the records that the cursor skips, plus `limit`. Default: 1,000,000.
   */
  readonly depth: number
  /** Maximum number of records that `count=capped` counts. Default: 10,000. */
  readonly count: number
  /** Number of relations in `include`, at all depths. Default: 8. */
  readonly includes: number
  /** Number of records in all included lists of a response. Default: 10,000. */
  readonly included: number
  /** Number of functions in `aggregate`. Default: 8. */
  readonly aggregates: number
  /** Number of fields in `by`. Default: 4. */
  readonly groupFields: number
  /**
   * Number of lists that a mount streams at the same time, at most half of them to one client; further ones are refused with 503.
   * Default: 4.
   */
  readonly streams: number
  /**
   * Time that a streamed list may take, in milliseconds; then its connection is closed. Also the time in which an import must
   * arrive; then it is refused with 400. Default: 600,000.
   */
  readonly streamTime: number
  /**
   * Time limit for each 64 KiB, in milliseconds. If the client of a streamed list takes longer to receive them, its connection
   * is closed. If an import takes longer to arrive, it is refused with 400. Default: 30,000.
   */
  readonly streamStall: number
  /** Number of open subscriptions to live lists and records. Default: 1,000. */
  readonly liveLists: number
  /** Number of subscriptions of one user, or of one network address of anonymous clients. Default: 20. */
  readonly liveListsPerClient: number
  /** Number of records in a live list; longer lists are refused with 400. Default: 10,000. */
  readonly liveRecords: number
  /**
   * Number of records in all live lists; one client can have half of them. Further subscriptions are refused with 503. If open lists
   * grow beyond the limit, lists of the client with the most records are closed. Subscribers with the same records and fields share a
   * list, which counts in equal parts for them. A record counts once more for each 64 characters of its key. Default: 500,000.
   */
  readonly allLiveRecords: number
  /** Size of the events that wait for a slow client, in bytes. If more wait, its connection is closed. Default: 262,144. */
  readonly liveBytes: number
  /**
   * Time between two heartbeats of a subscription, in milliseconds. The typed client connects again after 60,000
   * milliseconds without a byte. Default: 20,000.
   */
  readonly liveHeartbeat: number
  /** Time between two checks of the credentials of a live list, in milliseconds. Default: 60,000. */
  readonly liveCheck: number
  /** Size of a body, in bytes. Default: 1,048,576. */
  readonly body: number
  /** Number of values in all arrays and objects of a body, at all levels. Default: 20,000. */
  readonly bodyValues: number
  /**
   * Number of related records in a body, at all levels, including the keys of many-to-many relations; also the number of
   * stored related records that a write compares with those in the body. Default: 1,000. Maximum: 4,096.
   */
  readonly nested: number
  /** Size of a body that may be an array of records, in bytes: that of a POST with the option `bulk`. Default: 4 MiB. */
  readonly bulkBody: number
  /** Number of values in all records of an array, at all levels. Default: 200,000. */
  readonly bulkValues: number
  /** Size of an import, in bytes. Default: 256 MiB. */
  readonly importBytes: number
  /** Time that the transaction of a batch or of a POST of several records may take, in milliseconds. Default: 60,000. */
  readonly bulkTime: number
  /**
   * Number of records that an import or an array may write while the application listens to change events, which are kept until
   * the commit. Default: 100,000.
   */
  readonly changes: number
  /**
   * Number of imports that a mount writes at the same time, at most half of them of one client; further ones are refused with 503.
   * The bytes of all imports that are being received or written are limited to this number times `importBytes`. Default: 2.
   */
  readonly imports: number
  /** Time that the response to a write with `Idempotency-Key` is stored, in milliseconds. Default: 86,400,000, a day. */
  readonly idempotencyTime: number
  /** Size of a response that is stored for an `Idempotency-Key`, in bytes; a larger one is refused with 400. Default: 1 MiB. */
  readonly idempotencyBytes: number
  /** Number of passwords that are hashed at the same time. Default: 2. */
  readonly concurrentPasswords: number
  /** Number of passwords that wait to be hashed; further requests are refused with 503. Default: 32. */
  readonly queuedPasswords: number
  /**
   * Size of the records of a page in the database, in bytes; a page has at least one record. Also the approximate number of characters
   * that a PATCH on a collection may write to all records. Default: 16 MiB.
   */
  readonly pageBytes: number
  /**
   * Size of one record in the database, in bytes; larger records are not shown. Also the size of the response to an array, and of all
   * results of a batch; larger ones are refused with 413. Default: 64 MiB.
   */
  readonly itemBytes: number
  /**
   * Total size of the large bodies that the process is receiving, and of the large responses that it is reading or sending,
   * in bytes; further requests are refused with 503. If another client needs the memory, connections of a client that has more
   * than half of it are closed. Default: 128 MiB.
   */
  readonly responseBytes: number
  /**
   * Number of requests of one connection that wait for the response to the previous request; further requests are
   * refused with 503. Default: 32.
   */
  readonly pipelined: number
}

/** All limits of a mount. */
export interface Limits extends RequestLimits {
  readonly page: PageLimits
}

/**
 * Maximum value of `pageBytes` and `itemBytes`: 64 MiB. JSON can be six times as long as the text that it encodes, for
 * example for control characters, and a string in V8 has at most 512 MiB.
 */
export const maxRecordBytes = 64 * 1024 * 1024

/**
 * Maximum value of `joins`. A row scope has up to 1,000 values. They are bound for each table, and padding
 * (`padList`) can double their number. So 15 tables need up to 30,000 of the 32,766 values that SQLite accepts in a statement.
 */
export const maxJoins = 14

/** Maximum value of `nested`: the keys of 4,096 records, each of several values, fit into one statement. */
export const maxNested = 4096

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
  includes: 8,
  included: 10_000,
  aggregates: 8,
  groupFields: 4,
  streams: 4,
  streamTime: 600_000,
  streamStall: 30_000,
  liveLists: 1000,
  liveListsPerClient: 20,
  liveRecords: 10_000,
  allLiveRecords: 500_000,
  liveBytes: 256 * 1024,
  liveHeartbeat: 20_000,
  liveCheck: 60_000,
  body: 1_048_576,
  bodyValues: 20_000,
  nested: 1000,
  bulkBody: 4 * 1024 * 1024,
  bulkValues: 200_000,
  importBytes: 256 * 1024 * 1024,
  bulkTime: 60_000,
  changes: 100_000,
  imports: 2,
  idempotencyTime: 86_400_000,
  idempotencyBytes: 1024 * 1024,
  concurrentPasswords: 2,
  queuedPasswords: 32,
  pageBytes: 16 * 1024 * 1024,
  itemBytes: maxRecordBytes,
  responseBytes: 128 * 1024 * 1024,
  pipelined: 32,
}
