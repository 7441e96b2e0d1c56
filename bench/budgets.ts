/**
 * Measures the most expensive requests that the limits permit, on 100,000 records with 20 related records each: `npm run bench:budgets`.
 * `DATABASE_URL=postgres://…` or `mysql://…` uses an empty database of a server.
 */
import 'reflect-metadata'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import Koa from 'koa'
import {
  Column,
  DataSource,
  type DataSourceOptions,
  Entity,
  Index,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { anonymous, mountResources, Resource } from 'typeorm-resources'

const itemCount = 100_000
const partsPerItem = 20

@Entity()
@Resource({ auth: () => anonymous })
class Item {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 200 }) title!: string
  @Column({ type: 'text' }) body!: string
  @Column() a!: number
  @Column() b!: number
  @OneToMany(
    () => Part,
    (part) => part.item,
  )
  parts!: Relation<Part>[]
}

@Entity()
@Resource({ auth: () => anonymous })
class Part {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @Index()
  @ManyToOne(
    () => Item,
    (item) => item.parts,
  )
  item!: Relation<Item>
}

interface Case {
  readonly name: string
  readonly method?: string
  readonly path: string
  readonly body?: string
  readonly type?: string
}

const integers = (length: number): string => Array.from({ length }, (_, index) => index).join(',')
const worstPattern = `%${'a'.repeat(8)}%${'a'.repeat(8)}%ab`

const cases: readonly Case[] = [
  { name: 'a list of 20', path: 'item/' },
  {
    name: '1,000 members in four lists',
    path: ['a', 'b', 'id', 'a__ne']
      .map((n, i) => `${n}${i < 3 ? '__in' : ''}=${i < 3 ? integers(300) : 1}`)
      .join('&')
      .replace(/^/, 'item/?'),
  },
  {
    name: '30 filters of new names',
    path: `item/?${Array.from({ length: 29 }, (_, i) => `${['a', 'b', 'id'][i % 3]}__${['gte', 'lte', 'ne', 'gt', 'lt'][i % 5]}=${i}`).join('&')}&ordering=a,-b,title`,
  },
  { name: 'a pattern with many %', path: `item/?body__like=${encodeURIComponent(worstPattern)}` },
  { name: 'a pattern with many %, case-insensitive', path: `item/?body__ilike=${encodeURIComponent(worstPattern)}` },
  { name: 'a page with the largest offset', path: 'item/?page=100&limit=1000&ordering=title' },
  { name: 'a page of 1,000', path: 'item/?limit=1000' },
  { name: 'one relation to many, first record matches', path: 'item/?parts__name__ne=z&limit=1' },
  { name: 'two relations to many, no record matches', path: 'item/?parts__item__parts__name=none&limit=1' },
  { name: 'two relations to many, every record matches', path: 'item/?parts__item__parts__name__ne=z&limit=1' },
  {
    name: 'a body of 1 MiB of members',
    method: 'POST',
    path: 'item/',
    type: 'application/json',
    body: `{${Array.from({ length: 80_000 }, (_, i) => `"f${i}":${i % 10}`).join(',')}}`,
  },
  {
    name: 'a form of 1 MB of pairs',
    method: 'POST',
    path: 'item/',
    type: 'application/x-www-form-urlencoded',
    body: '+&'.repeat(500_000),
  },
]

async function send(url: string, { method = 'GET', path, body, type }: Case): Promise<number> {
  const headers = type === undefined ? {} : { 'Content-Type': type }
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/api/${path}`, { method, headers, agent: false }, (incoming) => {
      incoming.resume()
      incoming.on('end', () => resolve(incoming.statusCode ?? 0))
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Sends the requests in a worker thread, so that only the event loop of the service is measured. */
async function client(): Promise<void> {
  const { url } = workerData as { readonly url: string }
  parentPort?.on('message', async (index: number) => {
    const one = cases[index]
    if (one === undefined) return
    const start = performance.now()
    const status = await send(url, one).catch((error: Error) => error.message)
    parentPort?.postMessage({ status, milliseconds: performance.now() - start })
  })
}

function optionsOf(url: string | undefined): DataSourceOptions {
  if (url === undefined) return { type: 'better-sqlite3', database: ':memory:' }
  return url.startsWith('postgres') ? { type: 'postgres', url } : { type: 'mariadb', url }
}

async function fill(dataSource: DataSource): Promise<void> {
  const { driver } = dataSource
  const name = (identifier: string): string => driver.escape(identifier)
  const type = dataSource.options.type
  const body = type === 'postgres' || type === 'mariadb' ? "repeat('a', 300)" : `'${'a'.repeat(300)}'`
  const digits = `(${Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS d`).join(' UNION ALL ')})`
  const [text, modulo] = type === 'mariadb' ? ['CHAR', 'MOD(n, 97)'] : ['VARCHAR(20)', 'n % 97']
  const numbers = `(SELECT v.d + 10*w.d + 100*x.d + 1000*y.d + 10000*z.d AS n FROM ${digits} v, ${digits} w, ${digits} x, ${digits} y, ${digits} z) numbers`
  await dataSource.query(
    `INSERT INTO ${name('item')} (${['id', 'title', 'body', 'a', 'b'].map(name).join(', ')})
     SELECT n + 1, CAST(n AS ${text}), ${body}, ${modulo}, n FROM ${numbers} WHERE n < ${itemCount}`,
  )
  for (let part = 0; part < partsPerItem; part++) {
    await dataSource.query(
      `INSERT INTO ${name('part')} (${name('name')}, ${name('itemId')}) SELECT 'p${part}', ${name('id')} FROM ${name('item')}`,
    )
  }
  if (type === 'postgres') await dataSource.query('ANALYZE')
}

async function main(): Promise<void> {
  const options = { ...optionsOf(process.env['DATABASE_URL']), entities: [Item, Part], synchronize: true }
  const dataSource = await new DataSource(options as DataSourceOptions).initialize()
  await fill(dataSource)
  const app = new Koa()
  app.silent = true
  mountResources(app, dataSource)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const worker = new Worker(__filename, { workerData: { url } })
  console.log('| request | status | time ms | event loop blocked ms | memory MiB |')
  for (const [index, { name }] of cases.entries()) {
    globalThis.gc?.()
    const before = process.memoryUsage().rss
    let maxMemory = before
    const sampling = setInterval(() => {
      maxMemory = Math.max(maxMemory, process.memoryUsage().rss)
    }, 5)
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    worker.postMessage(index)
    const [{ status, milliseconds }] = await once(worker, 'message')
    delay.disable()
    clearInterval(sampling)
    const memory = (Math.max(maxMemory, process.memoryUsage().rss) - before) / 2 ** 20
    console.log(
      `| ${name} | ${status} | ${milliseconds.toFixed(0)} | ${(delay.max / 1e6).toFixed(0)} | ${memory.toFixed(0)} |`,
    )
  }
  await worker.terminate()
  server.close()
  await dataSource.destroy()
}

if (isMainThread) main()
else client()
