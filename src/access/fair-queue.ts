import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { networkOf } from './client-network'

/** The parties that a job is counted for, each separately: a network address and a user name. */
export type Parties = readonly string[]

/** The parties of a request. @param name user name of the credentials, or another text that identifies the user */
export function partiesOf(address: string, name: string): Parties {
  // A digest of the name, so that each party takes the same memory.
  return [`address ${networkOf(address)}`, `name ${hash('sha256', name, 'base64url')}`]
}

/** A queue of jobs with a limit on running jobs and one on waiting jobs. */
export interface FairQueue {
  /**
   * Runs a job when it is its turn.
   * @throws the error of `refuse`, if too many jobs wait and this one has the highest rank
   */
  readonly run: <T>(parties: Parties, work: () => T | Promise<T>) => Promise<T>
  /** Counts a failure of the parties. Jobs of parties with fewer failures run first. */
  readonly countFailure: (parties: Parties) => void
}

interface WaitingJob {
  readonly parties: Parties
  readonly start: () => void
  readonly fail: (error: Error) => void
}

/** Greatest number of parties whose failures are stored. */
const maxParties = 10_000
/** Time after the last failure of a party until its failures are deleted. */
const failureLifetimeMs = 15 * 60 * 1000

/**
 * Builds a queue that a few parties cannot fill. The load of a party is the number of its unfinished jobs and failures.
 * Jobs are ranked by the smallest load of their parties, then by the next one: an address may be shared by many users,
 * and a name may be attacked from many addresses. The job with the lowest rank runs first; of jobs with equal rank, the
 * oldest. If too many jobs wait, the one with the highest rank is refused; of jobs with equal rank, the newest.
 * @param refuse creates the error of a refused job
 */
export function buildFairQueue(maxRunning: number, maxWaiting: number, refuse: () => Error): FairQueue {
  const waiting: WaitingJob[] = []
  const unfinished = new Map<string, number>()
  const failures = new LRUCache<string, number>({ max: maxParties, ttl: failureLifetimeMs })
  let running = 0

  const addUnfinished = (parties: Parties, count: 1 | -1): void => {
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
  const byRank = (): readonly WaitingJob[] =>
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
      if (waiting.length > maxWaiting) remove(byRank().at(-1))?.fail(refuse())
    })
  const startNext = (): void => {
    if (running >= maxRunning) return
    const next = remove(byRank()[0])
    if (next === undefined) return
    running += 1
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

function compareLoads(one: readonly number[], other: readonly number[]): number {
  const index = one.findIndex((load, position) => load !== other[position])
  return index < 0 ? 0 : (one[index] ?? 0) - (other[index] ?? 0)
}
