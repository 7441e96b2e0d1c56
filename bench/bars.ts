import type { Results } from './report'
import type { Work } from './work'

/** How fast ours must be, as many times as fast as somebody else. */
interface Bar {
  readonly works: readonly Work[]
  readonly against: readonly string[]
  readonly atLeast?: number
  readonly atMost?: number
}

const peers = ['remult', 'nest-paginate', 'nest-crud']

export const bars: readonly Bar[] = [
  { works: ['list', 'filter', 'join'], against: ['limit'], atLeast: 1.05 },
  { works: ['item', 'list500'], against: ['limit'], atLeast: 1.2 },
  { works: ['create', 'update'], against: ['limit'], atLeast: 0.9 },
  { works: ['list', 'item'], against: ['limit-postgres'], atLeast: 0.95 },
  { works: ['list'], against: ['typeorm-people'], atLeast: 10 },
  { works: ['item'], against: ['typeorm-people'], atLeast: 8 },
  { works: ['list'], against: ['typeorm-experts'], atLeast: 1.5 },
  { works: ['item'], against: ['typeorm-experts'], atLeast: 3 },
  { works: ['list', 'filter', 'join'], against: peers, atLeast: 5 },
  { works: ['item'], against: peers, atLeast: 3 },
  { works: ['update'], against: [...peers, 'typeorm-experts'], atLeast: 3 },
  { works: ['create'], against: [...peers, 'typeorm-experts'], atLeast: 2 },
  { works: ['signedIn'], against: ['ours, list'], atLeast: 0.8 },
  { works: ['refused'], against: ['ours, list'], atLeast: 1.5 },
  { works: ['deepKeyset'], against: ['ours, firstKeyset'], atLeast: 0.9 },
  { works: ['list', 'item'], against: ['ours-300'], atMost: 1 / 0.97 },
]

/** Says of each bar that was measured whether its median was reached. */
export function printBars({ results }: Results): void {
  const lines = bars.flatMap(({ works, against, atLeast = 0, atMost = Number.POSITIVE_INFINITY }) =>
    results
      .filter(({ work, contestant }) => works.includes(work) && against.includes(contestant))
      .map(({ work, contestant, ours }) => ({ work, contestant, ours: ours?.[1] ?? Number.NaN, atLeast, atMost })),
  )
  console.table(lines.map((line) => ({ ...line, reached: line.ours >= line.atLeast && line.ours <= line.atMost })))
}
