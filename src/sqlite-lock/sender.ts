import type { QueryRunner } from 'typeorm'
import type { TurnTaker } from '../connection/turn-queue'
import { sharedByCopies } from '../shared-state'

/** Who sends a statement or a transaction: the session of a request. */
export interface Sender extends TurnTaker {
  /** HTTP response that the client waits for; undefined for work that is completed in any case. */
  readonly client: { readonly destroyed: boolean } | undefined
}

const senders = sharedByCopies('sqliteSenders', () => new WeakMap<QueryRunner, Sender>())

/** Notes who sends the next statements of a query runner. */
export function sendAs(sender: Sender, runner: QueryRunner): QueryRunner {
  senders.set(runner, sender)
  return runner
}

/** Who sends a statement of a query runner; undefined for the application's own query runners. */
export const senderOf = (runner: QueryRunner): Sender | undefined => senders.get(runner)
