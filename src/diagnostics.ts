import { channel } from 'node:diagnostics_channel'
import type { RefusalCode } from './errors'

/** A request on a resource has been answered. */
export interface RequestEvent {
  readonly resource: string
  readonly method: string
  readonly status: number
  readonly milliseconds: number
  /** SQL statements of this service's own: not those of listeners, and BEGIN and COMMIT. */
  readonly statements: number
  /** Rows that they have returned. */
  readonly rows: number
}

/** A SQL statement has come back from the database. */
export interface StatementEvent {
  readonly resource: string
  readonly milliseconds: number
  readonly rows: number
  readonly failed: boolean
}

/** A request has been refused: by which code of docs/reference/errors.md. */
export interface RefusalEvent {
  readonly resource: string
  readonly method: string
  readonly code: RefusalCode
  readonly status: number
}

/** An error went to Koa's `error` event, and was answered by 500, or by 503 for the database's sake. `name` is the error's. */
export interface FaultEvent {
  readonly resource: string
  readonly method: string
  readonly name: string
}

/**
 * What can be listened to through Node's `diagnostics_channel`, at no cost when nobody does. No event holds a value of a
 * record, credentials or a parameter of SQL.
 */
export const channels = {
  request: channel('typeorm-resources:request'),
  statement: channel('typeorm-resources:statement'),
  refusal: channel('typeorm-resources:refusal'),
  fault: channel('typeorm-resources:fault'),
} as const

interface Events {
  readonly request: RequestEvent
  readonly statement: StatementEvent
  readonly refusal: RefusalEvent
  readonly fault: FaultEvent
}

/** Tells who listens. */
export function publish<Name extends keyof Events>(name: Name, event: Events[Name]): void {
  if (channels[name].hasSubscribers) channels[name].publish(event)
}

/** What the statements of one request have cost so far. */
export interface Trace {
  readonly resource: string
  statements: number
  rows: number
  /** Between the start of a statement and its result; on SQLite with the wait for a transaction to end. */
  milliseconds: number
}

/** Runs a statement, and notes what it has cost. */
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
