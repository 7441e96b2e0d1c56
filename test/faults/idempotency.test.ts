import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type Reply, send } from '../client'
import { type ChildSite, startChildSite } from './child-site'
import { temporaryDirectory } from './cleanup'
import { startMariadb, startPostgres } from './clusters'
import { startCuttingProxy } from './cutting-proxy'
import { Receipt } from './entities'
import { describeReply, isUnavailable } from './ledger'
import { createSource, type SourceOptions } from './site'
import { byForm, logFigures, sleep } from './time'

const posts = byForm({ short: 500, long: 5_000 })
const clients = 20
const kills = byForm({ short: 2, long: 10 })

/** A request of a client. */
interface Post {
  readonly tag: string
  readonly key: string
}

/** Sends POSTs with keys until each has a response. */
class Posts {
  readonly replies = new Map<string, Reply>()
  readonly surprises: string[] = []
  readonly #pending: Post[]
  broken = 0
  replayed = 0
  inUse = 0
  unavailable = 0

  constructor(count: number) {
    this.#pending = Array.from({ length: count }, (_, index) => ({ tag: `${index}`, key: randomUUID() }))
  }

  /** Sends one POST after another. */
  async run(url: string): Promise<void> {
    for (let post = this.#pending.pop(); post !== undefined; post = this.#pending.pop()) {
      const { tag } = post
      while (!this.replies.has(tag)) await this.#attempt(url, post)
    }
  }

  /** Sends a POST, some of them twice at the same time. */
  async #attempt(url: string, post: Post): Promise<void> {
    const requests = Math.random() < 0.2 ? 2 : 1
    await Promise.all(Array.from({ length: requests }, () => this.#send(url, post)))
    // While no process runs, the clients must not keep the machine busy.
    if (!this.replies.has(post.tag)) await sleep(50 + Math.random() * 100)
  }

  async #send(url: string, { tag, key }: Post): Promise<void> {
    const headers = { 'Idempotency-Key': key }
    const reply = await send(url, 'POST /api/receipt/', { body: { tag }, headers }).catch(() => undefined)
    if (reply === undefined) this.broken++
    else if (isUnavailable(reply)) this.unavailable++
    else if (reply.text.includes('idempotency-key-in-use')) this.inUse++
    else if (reply.status !== 201) this.surprises.push(describeReply(reply))
    else this.#note(tag, reply)
  }

  #note(tag: string, reply: Reply): void {
    const { status, headers, text } = reply
    if (headers['idempotent-replayed'] !== undefined) this.replayed++
    const known = this.replies.get(tag) ?? reply
    const isSame = known.text === text && known.headers.etag === headers.etag && known.status === status
    if (!isSame) this.surprises.push(`two responses to ${tag}: ${known.text} and ${text}`)
    this.replies.set(tag, known)
  }
}

describe.each([
  // The process is killed, not the machine: what has been written to the operating system is kept.
  {
    name: 'better-sqlite3',
    processes: 1,
    start: async () => ({
      type: 'better-sqlite3',
      database: join(temporaryDirectory(), 'site.sqlite'),
      enableWAL: true,
    }),
  },
  { name: 'PostgreSQL', processes: 2, start: async () => (await startPostgres()).source },
  ...byForm({ short: [], long: [{ name: 'MariaDB', processes: 2, start: async () => (await startMariadb()).source }] }),
])('$name', ({ name, processes, start }) => {
  let source: SourceOptions
  beforeAll(async () => {
    source = await start()
    await createSource(source)
      .initialize()
      .then((dataSource) => dataSource.destroy())
  })

  test(`${posts} posts with keys through a proxy that cuts connections, while processes are killed, are executed once each`, async () => {
    const options = { source: { ...source, synchronize: false } }
    const sites = await Promise.all(Array.from({ length: processes }, () => startChildSite(options)))
    let next = 0
    const proxy = await startCuttingProxy(() => sites.filter((site) => site.isUp())[next++ % processes]?.url)
    const work = new Posts(posts)
    const isDone = Promise.all(Array.from({ length: clients }, () => work.run(proxy.url)))

    for (let kill = 0; kill < kills; kill++) {
      const enough = ((kill + 1) * posts) / (kills + 1)
      while (work.replies.size < enough) await sleep(5)
      await restart(sites, kill % processes, options)
    }
    await isDone

    const stored = await storedReceipts(source)
    const tags = new Set(stored.map(({ tag }) => tag))
    logFigures(`${posts} posts with keys, ${name}`, {
      killed: kills,
      ...Object.fromEntries(Object.entries(proxy.counts).map(([moment, count]) => [`cut ${moment}`, count])),
      broken: work.broken,
      replayed: work.replayed,
      'while running': work.inUse,
      'answered 503': work.unavailable,
      lost: posts - tags.size,
      repeated: stored.length - tags.size,
    })
    expect(work.surprises).toEqual([])
    expect([stored.length, tags.size]).toEqual([posts, posts])
    expect(stored.filter(({ tag, id }) => idOf(work.replies.get(tag)) !== id)).toEqual([])
    expect(work.replayed).toBeGreaterThan(posts / 20)
    for (const count of Object.values(proxy.counts)) expect(count).toBeGreaterThan(0)
  }, 300_000)
})

/** Kills a site and starts it again. */
async function restart(
  sites: ChildSite[],
  index: number,
  options: Parameters<typeof startChildSite>[0],
): Promise<void> {
  await sites[index]?.end('SIGKILL')
  sites[index] = await startChildSite(options)
}

const idOf = (reply: Reply | undefined): unknown => Object(reply?.json()).id

async function storedReceipts(source: SourceOptions): Promise<readonly Receipt[]> {
  const dataSource = await createSource({ ...source, synchronize: false }).initialize()
  const stored = await dataSource.getRepository(Receipt).find()
  await dataSource.destroy()
  return stored
}
