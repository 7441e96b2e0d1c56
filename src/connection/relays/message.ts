import { randomUUID } from 'node:crypto'
import type { TableChange } from '../change-feed'

/** Name of the channel on which the processes of a site exchange changes. */
export const relayChannel = 'typeorm_resources'

/** Creates the name of a relay, which ignores its own messages. Two data sources of one process have a relay each. */
export const newOrigin = (): string => randomUUID()

/** Maximum size of a message, in bytes: less than the 8,000 bytes of a notification of PostgreSQL. */
const maxBytes = 7900

/** The message about a change. It contains keys only; if there are too many keys, none. */
export function messageOf(origin: string, change: TableChange): string {
  const message = JSON.stringify({ origin, ...change })
  return Buffer.byteLength(message) <= maxBytes ? message : JSON.stringify({ origin, ...change, ids: undefined })
}

/**
 * Reads a message.
 * @param origin name of the relay that has received it
 * @returns undefined for a message of this relay, and if other programs have sent it
 */
export function changeIn(origin: string, message: string): TableChange | undefined {
  try {
    const { origin: sender, table, ids, isDeletion } = JSON.parse(message)
    if (sender === origin || typeof table !== 'string') return undefined
    const isList = Array.isArray(ids) && ids.every((id) => typeof id === 'string')
    return { table, ids: isList ? ids : undefined, isDeletion: isDeletion === true }
  } catch {
    return undefined
  }
}
