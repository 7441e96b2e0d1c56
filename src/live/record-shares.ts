import { ClientCounts } from '../access/client-counts'
import type { LiveList } from './live-list'

/**
 * Part of the records of a list that counts for each of its clients: all of them for a single client, half for each of two. If a
 * list counted for the client that opened it, another one could subscribe to it without being counted, and keep it open. If it
 * counted in full for each client, clients that share lists with many others would be the first to lose them.
 */
function shareOf({ count, clients }: LiveList): number {
  return count / clients.size
}

/** Number of records of live lists that count for each client. */
export function recordShares(lists: Iterable<LiveList>): ClientCounts {
  const shares = new ClientCounts()
  for (const list of lists) for (const client of list.clients.clients) shares.add(client, shareOf(list))
  return shares
}

/**
 * The list to close if the lists together have too many records: one of the client with the most records. Lists of several clients
 * come last, so that a client cannot close a list of others by subscribing to it.
 * @param keptOfClient number of records that a client can have without losing a list
 * @returns undefined if no client has more
 */
export function listToClose(lists: readonly LiveList[], keptOfClient: number): LiveList | undefined {
  const shares = recordShares(lists)
  const [client] = [...shares.clients].toSorted((one, other) => shares.of(other) - shares.of(one))
  if (client === undefined || shares.of(client) <= keptOfClient) return undefined
  const own = lists.filter(({ clients, count }) => clients.of(client) > 0 && count > 0)
  return own.toSorted((one, other) => one.clients.size - other.clients.size || other.count - one.count)[0]
}
