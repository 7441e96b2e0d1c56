import type { ObjectLiteral, QueryRunner } from 'typeorm'

type Broadcaster = QueryRunner['broadcaster']
type Event = Parameters<Broadcaster['broadcast']>[0]

/** The `BroadcasterResult` of TypeORM, which collects the promises of the listeners that were called. */
interface BroadcasterResult {
  count: number
  readonly promises: Promise<unknown>[]
}

/**
 * Calls the listeners and subscribers of an event and waits until all of them have settled. TypeORM's own `broadcast`
 * rejects at the first error: the other listeners could then still run after the end of the transaction.
 * @param eventArguments those of the event, and for `AfterInsert` the key of the new entity
 * @throws the first error that a listener or subscriber throws
 */
export async function callListeners<E extends Event>(
  { broadcaster }: QueryRunner,
  event: E,
  ...eventArguments: Parameters<typeof broadcaster.broadcast<E>> extends [E, ...infer Rest]
    ? [...Rest, identifier?: ObjectLiteral]
    : never
): Promise<void> {
  const result: BroadcasterResult = { count: 0, promises: [] }
  const broadcastEvent = broadcaster[`broadcast${event}Event`] as unknown as (
    result: BroadcasterResult,
    ...eventArguments: unknown[]
  ) => void
  let thrown: { readonly error: unknown } | undefined
  try {
    broadcastEvent.call(broadcaster, result, ...eventArguments)
  } catch (error) {
    thrown = { error }
  }
  for (const settled of await Promise.allSettled(result.promises)) {
    if (settled.status === 'rejected') thrown ??= { error: settled.reason }
  }
  if (thrown !== undefined) throw thrown.error
}
