import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { networkOf } from '../client-network'

/** The parties that a job is counted for, each separately: a network address and a user name. */
export type Parties = readonly [address: string, name: string]

/** The parties of a request. @param name user name of the credentials, or another text that identifies the user */
export function partiesOf(address: string, name: string): Parties {
  // A digest of the name, so that each party takes the same memory.
  return [`address ${networkOf(address)}`, `name ${hash('sha256', name, 'base64url')}`]
}

/** A queue of jobs with a limit on running jobs and one on waiting jobs. */
export interface FairQueue {
  /**
   * Runs a job when it is its turn.
   * @throws the error of `refuse`, if too many jobs wait and this one has the worst rank
   */
  readonly run: <T>(parties: Parties, work: () => T | Promise<T>) => Promise<T>
  /** Counts a failure of the parties, which worsens the rank of their jobs. */
  readonly countFailure: (parties: Parties) => void
}

interface WaitingJob {
  readonly parties: Parties
  readonly start: () => void
  readonly fail: (error: Error) => void
}

/** Number of unfinished jobs and failures of each party of a job. */
interface Loads {
  readonly smaller: number
  readonly larger: number
}

/**
 * The two orders of waiting jobs; the order of jobs with equal loads is that of their arrival. Each protects users whom
 * the other one does not. The smaller load first: a user whose name is attacked, or who shares an address with many
 * others, precedes an attacker with few failures for each of many addresses and names. The larger load first: a user who
 * has mistyped precedes an attacker at one address who sends a new name each time.
 */
const orders: readonly ((one: Loads, other: Loads) => number)[] = [
  (one, other) => one.smaller - other.smaller || one.larger - other.larger,
  (one, other) => one.larger - other.larger || one.smaller - other.smaller,
]

/** Greatest number of parties whose failures are stored. */
const maxParties = 10_000
/** Time after the last failure of a party until its failures are deleted. */
const failureLifetimeMs = 15 * 60 * 1000

/**
 * Builds a queue that a few parties cannot fill. The rank of a job is the better one of its positions in the two
 * {@link orders}. The first jobs of the orders run in turn. If too many jobs wait, the one with the worst rank is refused.
 * @param refuse creates the error of a refused job
 */
export function buildFairQueue(maxRunning: number, maxWaiting: number, refuse: () => Error): FairQueue {
  const waiting: WaitingJob[] = []
  const unfinished = new Map<string, number>()
  const failures = new LRUCache<string, number>({ max: maxParties, ttl: failureLifetimeMs })
  /** The orders; the first one has the next turn. */
  const turns = [...orders]
  let running = 0

  const addUnfinished = (parties: Parties, count: 1 | -1): void => {
    for (const party of parties) {
      const sum = (unfinished.get(party) ?? 0) + count
      if (sum === 0) unfinished.delete(party)
      else unfinished.set(party, sum)
    }
  }
  const loadOf = (party: string): number => (unfinished.get(party) ?? 0) + (failures.get(party) ?? 0)
  const loadsOf = ({ parties: [address, name] }: WaitingJob): Loads => {
    const loads = [loadOf(address), loadOf(name)]
    return { smaller: Math.min(...loads), larger: Math.max(...loads) }
  }
  /** The waiting jobs by rank. Of two with equal rank, the one of the order whose turn it is comes first. */
  const byRank = (): readonly WaitingJob[] => {
    const jobs = waiting.map((job) => ({ job, loads: loadsOf(job) }))
    const [one = [], other = []] = turns.map((compare) =>
      jobs.toSorted((first, second) => compare(first.loads, second.loads)).map(({ job }) => job),
    )
    // The set contains each job once, at the better one of its two positions.
    return [...new Set(one.flatMap((job, position) => [job, other[position] ?? job]))]
  }
  const remove = (job: WaitingJob | undefined): WaitingJob | undefined =>
    job === undefined ? undefined : waiting.splice(waiting.indexOf(job), 1)[0]

  const takeTurn = (parties: Parties): Promise<void> =>
    new Promise((start, fail) => {
      waiting.push({ parties, start, fail })
      startNext()
      if (waiting.length > maxWaiting) remove(byRank().at(-1))?.fail(refuse())
    })
  const startNext = (): void => {
    if (running >= maxRunning) return
    const next = remove(byRank()[0])
    if (next === undefined) return
    running += 1
    turns.reverse()
    next.start()
  }
  return {
    run: async (parties, work) => {
      addUnfinished(parties, 1)
      try {
        await takeTurn(parties)
        try {
          return await work()
        } finally {
          running -= 1
        }
      } finally {
        addUnfinished(parties, -1)
        startNext()
      }
    },
    countFailure: (parties) => {
      for (const party of parties) failures.set(party, (failures.get(party) ?? 0) + 1)
    },
  }
}
