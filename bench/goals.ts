import { type Engine, engines } from './engines'
import type { Results } from './report'
import type { Work } from './work'

/** Goal for the throughput of `ours`, divided by that of other implementations. */
interface Goal {
  readonly works: readonly Work[]
  readonly against: readonly string[]
  /** Default: SQLite. */
  readonly engines?: readonly Engine[]
  readonly atLeast?: number
  readonly atMost?: number
}

const peers = ['remult', 'nest-paginate', 'nest-crud', 'zenstack']

const goals: readonly Goal[] = [
  { works: ['list', 'filter', 'join'], against: ['limit'], atLeast: 1.05 },
  { works: ['item', 'list500'], against: ['limit'], atLeast: 1.2 },
  { works: ['create', 'update'], against: ['limit'], atLeast: 0.9 },
  { works: ['list', 'item'], against: ['limit'], engines: ['postgres'], atLeast: 0.95 },
  { works: ['list'], against: ['typeorm-people'], atLeast: 10 },
  { works: ['item'], against: ['typeorm-people'], atLeast: 8 },
  { works: ['list'], against: ['typeorm-experts'], atLeast: 1.5 },
  { works: ['item'], against: ['typeorm-experts'], atLeast: 3 },
  { works: ['list', 'filter', 'join'], against: peers, atLeast: 5 },
  { works: ['item'], against: peers, atLeast: 3 },
  { works: ['update'], against: [...peers, 'typeorm-experts'], atLeast: 3 },
  { works: ['create'], against: [...peers, 'typeorm-experts'], atLeast: 2 },
  { works: ['signedIn'], against: ['ours, list'], engines, atLeast: 0.8 },
  { works: ['refused'], against: ['ours, list'], engines, atLeast: 1.5 },
  { works: ['deepKeyset'], against: ['ours, firstKeyset'], engines, atLeast: 0.9 },
  { works: ['list', 'item'], against: ['ours-300'], atMost: 1 / 0.97 },
]

/** Prints each goal that was measured, and whether the median reaches it. */
export function printGoals({ results }: Results): void {
  const lines = goals.flatMap(
    ({ works, against, engines: on = ['sqlite'], atLeast = 0, atMost = Number.POSITIVE_INFINITY }) =>
      results
        .filter((one) => works.includes(one.work) && against.includes(one.implementation) && on.includes(one.engine))
        .map(({ engine, work, implementation, ours }) => {
          const median = ours?.[1] ?? Number.NaN
          const isReached = median >= atLeast && median <= atMost
          return { engine, work, implementation, ours: median, atLeast, atMost, isReached }
        }),
  )
  console.table(lines)
}
