import type { DataSource } from 'typeorm'
import { send } from '../client'
import { Memo, Note } from './entities'
import { describeReply, Ledger } from './ledger'
import type { Site } from './site'
import { sleep } from './time'

/** Number of posts, every third of which is refused, and of transactions of the application. */
export const posts = 200
const transactions = 40

/** Result of a mixed load. */
export interface Outcome {
  readonly ledger: Ledger
  readonly stored: readonly string[]
  /** Tags of rolled back transactions that readers have seen. */
  readonly dirty: readonly string[]
}

/**
 * Sends posts in parallel with transactions of the application on the same data source.
 * @param spread time between the start of the first and the last of them, in milliseconds
 */
export async function mixedLoad(site: Site, spread: number): Promise<Outcome> {
  const ledger = new Ledger()
  const watch = watchForDirtyReads(site)
  try {
    await Promise.all([
      ...Array.from({ length: posts }, (_, index) => postOne(site, ledger, index, spread)),
      ...Array.from({ length: transactions }, (_, index) => transactOne(site.dataSource, ledger, index, spread)),
    ])
  } finally {
    await watch.stop()
  }
  return { ledger, stored: await storedTags(site.dataSource), dirty: await watch.stop() }
}

/** Posts a valid record, an invalid one, or one of which the subscriber rejects half. */
async function postOne({ url }: Site, ledger: Ledger, index: number, spread: number): Promise<void> {
  await sleep(Math.random() * spread)
  const resource = index % 2 === 0 ? 'note' : 'memo'
  const third = index % 3
  const values = third === 1 ? { score: 'many' } : {}
  const veto = index % 4 === 3 ? 'veto-before' : 'veto-after'
  const tag = `${third === 2 && resource === 'memo' ? veto : 'post'}-${index}`
  const reply = await ledger.post(url, resource, tag, values)
  if (third === 1 && reply.status !== 400) throw new Error(describeReply(reply))
}

/** Runs a transaction that awaits something besides the database, as in applications; every third is rolled back. */
async function transactOne(dataSource: DataSource, ledger: Ledger, index: number, spread: number): Promise<void> {
  await sleep(Math.random() * spread)
  const isUndone = index % 3 === 2
  const tags = [`${isUndone ? 'undone' : 'own'}-${index}-a`, `${isUndone ? 'undone' : 'own'}-${index}-b`]
  const work = dataSource.transaction(async (manager) => {
    await manager.insert(Note, { tag: tags[0] as string })
    await sleep(Math.random() * 5)
    await manager.save(Memo, { tag: tags[1] as string })
    await sleep(Math.random() * 5)
    if (isUndone) throw new Error('undone')
  })
  const status = await work.then(
    () => 201,
    () => 500,
  )
  for (const tag of tags) ledger.note(tag, status)
}

/** Reads continuously, and collects the tags of transactions that are rolled back. */
function watchForDirtyReads({ url }: Site): { readonly stop: () => Promise<readonly string[]> } {
  const seen = new Set<string>()
  let isOver = false
  const watch = async (): Promise<void> => {
    while (!isOver) {
      for (const resource of ['note', 'memo']) {
        const { text } = await send(url, `GET /api/${resource}/?tag__like=undone%25&limit=1000`)
        for (const [tag] of text.matchAll(/undone-[\w-]+/g)) seen.add(tag)
      }
    }
  }
  const watching = watch()
  return {
    stop: async () => {
      isOver = true
      await watching
      return [...seen]
    },
  }
}

/** Reads the tags of all notes and memos. */
export async function storedTags(dataSource: DataSource): Promise<readonly string[]> {
  const rows = await Promise.all([dataSource.getRepository(Note).find(), dataSource.getRepository(Memo).find()])
  return rows.flat().map(({ tag }) => tag)
}
