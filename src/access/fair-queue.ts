import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { networkOf } from './client-network'

/** Who asks for work: each is counted by itself. */
export type Parties = readonly string[]

/** The parties of a request. @param name the user name that it sends, or who else it is about */
export function partiesOf(address: string, name: string): Parties {
  // Digests, so that each takes the same memory.
  return [`address ${networkOf(address)}`, `name ${hash('sha256', name, 'base64url')}`]
}

/** Work of which a limited number runs at a time, and a limited number waits. */
export interface FairQueue {
  /**
   * Runs work when it is its turn.
   * @throws what `refuse` makes, when too much waits and these parties have the worst rank
   */
  readonly run: <T>(parties: Parties, work: () => T | Promise<T>) => Promise<T>
  /** Counts a failure of these parties: work of parties with fewer failures goes first. */
  readonly countFailure: (parties: Parties) => void
}

interface WaitingJob {
  readonly parties: Parties
  readonly start: () => void
  readonly fail: (error: Error) => void
}

/** Parties whose failures are remembered. */
const maxParties = 10_000
/** After the last failure. */
const failureLifetimeMs = 15 * 60 * 1000

/**
 * A queue that a few parties cannot fill. The load of a party is its unfinished work and its failures. Jobs are ranked by the smallest
 * load of their parties, since an address may be that of many users, and a name may be attacked from many addresses; then by the next.
 * The lowest rank runs first, of equal ones the oldest job. When too many wait, the highest rank is refused, of equal ones the newest job.
 * @param refuse makes the error of a job that is refused
 */
export function buildFairQueue(maxRunning: number, maxWaiting: number, refuse: () => Error): FairQueue {
  const waiting: WaitingJob[] = []
  const unfinished = new Map<string, number>()
  const failures = new LRUCache<string, number>({ max: maxParties, ttl: failureLifetimeMs })
  let running = 0

  const add = (parties: Parties, count: 1 | -1): void => {
    for (const party of parties) {
      const sum = (unfinished.get(party) ?? 0) + count
      if (sum === 0) unfinished.delete(party)
      else unfinished.set(party, sum)
    }
  }
  const loadsOf = ({ parties }: WaitingJob): readonly number[] =>
    parties
      .map((party) => (unfinished.get(party) ?? 0) + (failures.get(party) ?? 0))
      .toSorted((one, other) => one - other)
  const inOrder = (): readonly WaitingJob[] =>
    waiting
      .map((job) => ({ job, loads: loadsOf(job) }))
      .toSorted((one, other) => compareLoads(one.loads, other.loads))
      .map(({ job }) => job)
  const remove = (job: WaitingJob | undefined): WaitingJob | undefined =>
    job === undefined ? undefined : waiting.splice(waiting.indexOf(job), 1)[0]

  const takeTurn = (parties: Parties): Promise<void> =>
    new Promise((start, fail) => {
      waiting.push({ parties, start, fail })
      startNext()
      if (waiting.length > maxWaiting) remove(inOrder().at(-1))?.fail(refuse())
    })
  const startNext = (): void => {
    if (running >= maxRunning) return
    const next = remove(inOrder()[0])
    if (next === undefined) return
    running += 1
    next.start()
  }
  return {
    run: async (parties, work) => {
      add(parties, 1)
      try {
        await takeTurn(parties)
        try {
          return await work()
        } finally {
          running -= 1
        }
      } finally {
        add(parties, -1)
        startNext()
      }
    },
    countFailure: (parties) => {
      for (const party of parties) failures.set(party, (failures.get(party) ?? 0) + 1)
    },
  }
}

function compareLoads(one: readonly number[], other: readonly number[]): number {
  const index = one.findIndex((load, at) => load !== other[at])
  return index < 0 ? 0 : (one[index] ?? 0) - (other[index] ?? 0)
}
