/**
 * Compares an import of 100,000 records with a Koa route that runs INSERTs of several rows with the driver, and measures how long GETs take
 * during an import: `npm run bench:import`. `BENCH_POSTGRES_URL` adds PostgreSQL.
 */
import 'reflect-metadata'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setImmediate, setTimeout } from 'node:timers/promises'
import Database from 'better-sqlite3'
import Koa from 'koa'
import { Pool } from 'pg'
import { Entity } from 'typeorm'
import { anonymous, Resource } from 'typeorm-resources'
import {
  alternate,
  columns,
  type Engine,
  EntryColumns,
  engine,
  measure,
  open,
  print,
  type Running,
  rowOf,
  runPair,
} from './pair'
import { database } from './serve'

@Entity('import_entry')
@Resource({ name: 'entry', auth: () => anonymous, bulk: true })
class Entry extends EntryColumns {}

const rowCount = Number(process.env['BENCH_ROWS'] ?? 100_000)
/** Number of rows before an import, which GETs read. */
const initialRows = 1000
/** Rows of one INSERT of the hand-written route; the service inserts as many. */
const rowsPerInsert = 200
/** Time between two GETs, in milliseconds. */
const pause = 10

const file = (): string => Array.from({ length: rowCount }, (_, index) => `${JSON.stringify(rowOf(index))}\n`).join('')

/** Deletes all rows but the initial ones, whose keys begin at 1. */
async function reset(type: Engine, target: string): Promise<void> {
  const source = await open(Entry, type, target)
  const entries = source.getRepository(Entry)
  if (type === 'postgres') await source.query('TRUNCATE import_entry RESTART IDENTITY')
  else await entries.clear()
  const rows = Array.from({ length: initialRows }, (_, index) => ({ id: index + 1, ...rowOf(index) }))
  await entries.createQueryBuilder().insert().values(rows).updateEntity(false).execute()
  if (type === 'postgres') await source.query(`SELECT setval('import_entry_id_seq', ${initialRows})`)
  else await source.query('PRAGMA wal_checkpoint(TRUNCATE)')
  await source.destroy()
}

type Values = readonly unknown[]

/** Inserts rows in one transaction. */
type Insert = (chunks: AsyncIterable<readonly Values[]>) => Promise<void>

const insertSql = (rows: number, placeholder: (index: number) => string): string => {
  const tuples = Array.from({ length: rows }, (_, row) =>
    columns.map((_, column) => placeholder(row * columns.length + column)),
  )
  return `INSERT INTO import_entry (${columns.join(', ')}) VALUES ${tuples.map((tuple) => `(${tuple.join(', ')})`).join(', ')}`
}

function sqliteInsert(): Insert {
  const connection = new Database(database)
  connection.pragma('journal_mode = WAL')
  return async (chunks) => {
    connection.exec('BEGIN')
    for await (const chunk of chunks) {
      connection
        .prepare(insertSql(chunk.length, () => '?'))
        .run(chunk.flatMap((values) => values.map((value) => (typeof value === 'boolean' ? Number(value) : value))))
      await setImmediate()
    }
    connection.exec('COMMIT')
  }
}

function postgresInsert(): Insert {
  const pool = new Pool({ connectionString: database })
  return async (chunks) => {
    const client = await pool.connect()
    await client.query('BEGIN')
    for await (const chunk of chunks) {
      await client.query(
        insertSql(chunk.length, (index) => `$${index + 1}`),
        chunk.flat(),
      )
    }
    await client.query('COMMIT')
    client.release()
  }
}

async function* chunksOf(body: Readable): AsyncGenerator<readonly Values[]> {
  let chunk: Values[] = []
  // Created after BEGIN: lines that are read before the iteration starts would be lost.
  for await (const line of createInterface({ input: body })) {
    const record = JSON.parse(line) as Readonly<Record<string, unknown>>
    if (chunk.push(columns.map((name) => record[name])) < rowsPerInsert) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

function handwritten(): Koa {
  const insert = engine === 'sqlite' ? sqliteInsert() : postgresInsert()
  return new Koa().use(async (context) => {
    await insert(chunksOf(context.req))
    context.status = 201
  })
}

const agent = new Agent({ keepAlive: true })

/**
 * Sends a request. An import opens a new connection, because the server may have closed an idle one.
 * @returns the status
 */
function send(url: string, method: string, body?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'Content-Type': 'application/x-ndjson' }
    request(url, { method, headers, agent: body === undefined && agent }, (incoming) => {
      incoming
        .resume()
        .on('end', () => resolve(incoming.statusCode ?? 0))
        .on('error', reject)
    })
      .on('error', reject)
      .end(body)
  })
}

async function importOnce({ name, origin }: Running, body: string): Promise<void> {
  const status = await send(`${origin}/api/entry/`, 'POST', body)
  if (status !== 201) throw new Error(`${name}: the import has the status ${status}`)
}

const paths = { list: () => '', item: (index: number) => `${1 + (index % initialRows)}/` } as const
type Times = Readonly<Record<keyof typeof paths, number[]>>

/** Sends lists and items in turn until `work` ends. @returns their durations, in milliseconds */
async function readDuring({ origin }: Running, work: Promise<unknown>): Promise<Times> {
  let hasEnded = false
  const end = work.finally(() => {
    hasEnded = true
  })
  const times: Times = { list: [], item: [] }
  for (let index = 0; !hasEnded; index++) {
    const name = index % 2 === 0 ? 'list' : 'item'
    const begin = performance.now()
    const status = await send(`${origin}/api/entry/${paths[name](index)}`, 'GET')
    times[name].push(performance.now() - begin)
    if (status !== 200) throw new Error(`a GET during the import has the status ${status}`)
    await setTimeout(pause)
  }
  await end
  return times
}

function percentiles(times: readonly number[]): string {
  const sorted = times.toSorted((left, right) => left - right)
  const percentile = (share: number): string =>
    (sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN).toFixed(1)
  return `p50 ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms, longest ${percentile(1)} ms (${sorted.length} requests)`
}

async function compare(running: readonly Running[], type: Engine, target: string): Promise<void> {
  const body = file()
  const comparison = await alternate(running, { rounds: 5, warmUps: 1 }, async (server) => {
    const figures = await measure(server, () => importOnce(server, body))
    await reset(type, target)
    return figures
  })
  print(type, comparison, rowCount)
  const own = running.find(({ name }) => name === 'ours')
  if (own !== undefined) await compareReads(own, body)
  agent.destroy()
}

/** Compares GETs during an import with GETs at other times. */
async function compareReads(running: Running, body: string): Promise<void> {
  const idle = await readDuring(running, setTimeout(5000))
  const during = await readDuring(running, importOnce(running, body))
  for (const name of ['list', 'item'] as const) {
    console.log(`${name}: ${percentiles(idle[name])}; during an import: ${percentiles(during[name])}`)
  }
}

void runPair({
  entity: Entry,
  options: { defaultAuth: () => anonymous, limits: { bulkTime: 600_000 } },
  handwritten,
  engines: ['sqlite', 'postgres'],
  prepare: reset,
  compare,
})
