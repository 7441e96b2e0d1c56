import { channel } from 'node:diagnostics_channel'
import type { RefusalCode } from './errors'

/** Published when a request on a resource has been answered. */
export interface RequestEvent {
  readonly resource: string
  readonly method: string
  readonly status: number
  readonly milliseconds: number
  /** Number of SQL statements of this service, without those of listeners, BEGIN and COMMIT. */
  readonly statements: number
  /** Number of rows that these statements have returned. */
  readonly rows: number
}

/** Published when a SQL statement has succeeded or failed. */
export interface StatementEvent {
  readonly resource: string
  readonly milliseconds: number
  readonly rows: number
  readonly failed: boolean
}

/** Published when a request has been refused. docs/reference/errors.md explains the codes. */
export interface RefusalEvent {
  readonly resource: string
  readonly method: string
  /** `'problem'` if application code has refused the request by `problem(…)`. */
  readonly code: RefusalCode | 'problem'
  readonly status: number
  /** Why a request got 401: for the log, not for clients. Undefined for other refusals. */
  readonly reason?: string
}

/**
 * Published when an error has been passed to Koa's `error` event; the response is 500, or 503 for a transient error of
 * the database.
 */
export interface FaultEvent {
  readonly resource: string
  readonly method: string
  /** Name of the error: `Error.name`. */
  readonly name: string
}

/**
 * The channels of Node's `diagnostics_channel` that this service publishes to. Without subscribers they cost nothing.
 * Events never contain values of records, credentials or parameters of SQL; those of `change` have the key of the record and
 * the principal.
 */
export const channels = {
  request: channel('typeorm-resources:request'),
  statement: channel('typeorm-resources:statement'),
  refusal: channel('typeorm-resources:refusal'),
  fault: channel('typeorm-resources:fault'),
  change: channel('typeorm-resources:change'),
} as const

interface Events {
  readonly request: RequestEvent
  readonly statement: StatementEvent
  readonly refusal: RefusalEvent
  readonly fault: FaultEvent
}

/** Publishes an event if its channel has subscribers. */
export function publish<Name extends keyof Events>(name: Name, event: Events[Name]): void {
  if (channels[name].hasSubscribers) channels[name].publish(event)
}

/** The costs of the statements of one request so far. */
export interface Trace {
  readonly resource: string
  statements: number
  rows: number
  /**
   * Time between the start of each statement and its result, in total; on SQLite including the wait for other
   * transactions.
   */
  milliseconds: number
}

/** Runs a statement, adds its costs to the trace and publishes them. */
export async function traced<T extends { readonly records: readonly unknown[] }>(
  trace: Trace,
  run: () => Promise<T>,
): Promise<T> {
  const start = performance.now()
  let rows = 0
  let failed = true
  try {
    const result = await run()
    rows = result.records.length
    failed = false
    return result
  } finally {
    const milliseconds = performance.now() - start
    trace.statements += 1
    trace.rows += rows
    trace.milliseconds += milliseconds
    publish('statement', { resource: trace.resource, milliseconds, rows, failed })
  }
}
