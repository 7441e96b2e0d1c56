import type { QueryRunner } from 'typeorm'

type Broadcaster = QueryRunner['broadcaster']
type Event = Parameters<Broadcaster['broadcast']>[0]

/** What TypeORM's broadcaster gathers of the listeners that it has called. */
interface Called {
  count: number
  readonly promises: Promise<unknown>[]
}

/**
 * Tells listeners and subscribers, and waits for all of them: TypeORM itself goes on at the first that throws, and what the
 * others do then would come behind the end of the transaction.
 */
export async function callListeners<E extends Event>(
  { broadcaster }: QueryRunner,
  event: E,
  ...about: Parameters<typeof broadcaster.broadcast<E>> extends [E, ...infer Rest] ? Rest : never
): Promise<void> {
  const called: Called = { count: 0, promises: [] }
  const call = broadcaster[`broadcast${event}Event`] as unknown as (called: Called, ...about: unknown[]) => void
  let thrown: { readonly error: unknown } | undefined
  try {
    call.call(broadcaster, called, ...about)
  } catch (error) {
    thrown = { error }
  }
  for (const result of await Promise.allSettled(called.promises)) {
    if (result.status === 'rejected') thrown ??= { error: result.reason }
  }
  if (thrown !== undefined) throw thrown.error
}
