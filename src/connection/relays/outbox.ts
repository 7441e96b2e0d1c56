import type { TableChange } from '../change-feed'
import { messageOf } from './message'

/** Delay before failed messages are sent again, in milliseconds. */
const retryMs = 1000

/** Sends messages about committed changes, and repeats those that fail. */
export interface Outbox {
  readonly send: (changes: readonly TableChange[]) => void
  /** Stops the repetitions. */
  readonly close: () => void
}

/** Builds an outbox. @param sendMessage rejects if a message could not be sent */
export function buildOutbox(origin: string, sendMessage: (message: string) => Promise<unknown>): Outbox {
  /** Tables whose changes could not be sent. Their keys are not kept. */
  let failed = new Map<string, TableChange>()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  const send = (changes: readonly TableChange[]): void => {
    for (const change of changes) sendMessage(messageOf(origin, change)).catch(() => retry(change))
  }
  const retry = ({ table, isDeletion }: TableChange): void => {
    if (isClosed) return
    const known = failed.get(table)
    failed.set(table, { table, ids: undefined, isDeletion: isDeletion || known?.isDeletion === true })
    timer ??= setTimeout(() => {
      timer = undefined
      const changes = [...failed.values()]
      failed = new Map()
      send(changes)
    }, retryMs).unref()
  }
  return {
    send,
    close: () => {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
