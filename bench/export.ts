/**
 * What an export of 100,000 rows costs, compared with a Koa route that renders the rows of the driver's cursor: `npm run bench:export`. CPU time of
 * the server's process for one export, in alternating windows. `BENCH_POSTGRES_URL` and `BENCH_MARIADB_URL` add databases.
 */
import 'reflect-metadata'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import Database from 'better-sqlite3'
import { stringify } from 'csv-stringify/sync'
import Koa from 'koa'
import { createPool, type PoolConnection } from 'mysql2'
import { Pool } from 'pg'
import QueryStream from 'pg-query-stream'
import { Column, DataSource, type DataSourceOptions, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { anonymous, mountResources, Resource } from 'typeorm-resources'
import { median } from './report'
import { database, serve, type Usage } from './serve'

@Entity('export_entry')
@Resource({ name: 'entry', auth: () => anonymous, formats: true })
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') minutes!: number
  @Column({ length: 10 }) day!: string
  @Column({ length: 100 }) note!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) phase!: string | null
  @Column() billed!: boolean
}

const rowCount = Number(process.env['BENCH_ROWS'] ?? 100_000)
type Kind = 'sqlite' | 'postgres' | 'mariadb'
const kind = (process.env['BENCH_KIND'] ?? 'sqlite') as Kind

const sourceOf = (type: Kind, place: string, synchronize: boolean): DataSource =>
  new DataSource({
    ...(type === 'sqlite' ? { type: 'better-sqlite3', database: place } : { type, url: place }),
    entities: [Entry],
    synchronize,
  } as DataSourceOptions)

async function seed(type: Kind, place: string): Promise<void> {
  const source = await sourceOf(type, place, true).initialize()
  const entries = source.getRepository(Entry)
  await entries.clear()
  for (let start = 0; start < rowCount; start += 1000) {
    const rows = Array.from({ length: 1000 }, (_, index) => ({
      minutes: (start + index) % 480,
      day: `2025-01-${10 + (index % 20)}`,
      note: `Worked on "task ${index % 50}", as in the plan of the project`,
      phase: index % 4 === 0 ? null : 'build',
      billed: index % 2 === 0,
    }))
    await entries.createQueryBuilder().insert().values(rows).updateEntity(false).execute()
  }
  await source.destroy()
}

type Row = Readonly<Record<string, unknown>>
const sql = 'SELECT id, minutes, day, note, phase, billed FROM export_entry ORDER BY id'

/** The rows of the driver's cursor. */
function rowsOf(): () => Iterable<Row> | AsyncIterable<Row> {
  if (kind === 'sqlite') {
    const statement = new Database(database, { readonly: true }).prepare(sql)
    return () => statement.iterate() as Iterable<Row>
  }
  if (kind === 'postgres') {
    const pool = new Pool({ connectionString: database })
    return async function* () {
      const client = await pool.connect()
      yield* client.query(new QueryStream(sql, [], { batchSize: 200 }))
      client.release()
    }
  }
  const pool = createPool(database)
  return async function* () {
    const connection = await new Promise<PoolConnection>((resolve, reject) => {
      pool.getConnection((error, pooled) => (error ? reject(error) : resolve(pooled)))
    })
    yield* connection.execute(sql).stream({ highWaterMark: 200 })
    connection.release()
  }
}

async function* rendered(rows: Iterable<Row> | AsyncIterable<Row>, render: (batch: readonly Row[]) => string) {
  let batch: Row[] = []
  for await (const row of rows) {
    batch.push(row)
    if (batch.length < 200) continue
    yield render(batch)
    batch = []
  }
  yield render(batch)
}

function handwritten(): Koa {
  const rows = rowsOf()
  const shown = kind === 'postgres' ? (row: Row) => row : (row: Row) => ({ ...row, billed: row['billed'] === 1 })
  const toNdjson = (batch: readonly Row[]): string => batch.map((row) => `${JSON.stringify(shown(row))}\n`).join('')
  const cast = { boolean: (value: boolean) => (value ? 'true' : 'false') }
  const toCsv = (batch: readonly Row[]): string =>
    stringify(
      batch.map((row) => Object.values(shown(row))),
      { record_delimiter: 'windows', cast },
    )
  return new Koa().use((context) => {
    const isCsv = context.query['format'] === 'csv'
    context.type = isCsv ? 'text/csv' : 'application/x-ndjson'
    context.body = Readable.from(rendered(rows(), isCsv ? toCsv : toNdjson))
  })
}

async function ours(): Promise<Koa> {
  const app = new Koa()
  mountResources(app, await sourceOf(kind, database, false).initialize())
  return app
}

const servers: Readonly<Record<string, () => Koa | Promise<Koa>>> = { ours, handwritten }

interface Running {
  readonly name: string
  readonly child: ChildProcess
  readonly origin: string
}

async function start(name: string, type: Kind, place: string): Promise<Running> {
  const env = { ...process.env, NODE_ENV: 'production', BENCH_SERVER: name, BENCH_KIND: type, BENCH_DATABASE: place }
  const child = fork(__filename, { env })
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
  return { name, child, origin: `http://127.0.0.1:${port}` }
}

async function cpuOf({ child }: Running): Promise<number> {
  child.send('usage')
  const [{ cpu }] = (await once(child, 'message')) as [Usage]
  return cpu
}

/** CPU time and duration of one export, in milliseconds. */
async function measure(running: Running, format: string): Promise<{ readonly cpu: number; readonly time: number }> {
  const before = await cpuOf(running)
  const start = performance.now()
  let lines = 0
  await new Promise((resolve, reject) => {
    get(`${running.origin}/api/entry/?format=${format}`, { agent: false }, (incoming) => {
      incoming.on('data', (chunk: Buffer) => {
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1
      })
      incoming.on('end', resolve).on('error', reject)
    }).on('error', reject)
  })
  const time = performance.now() - start
  const header = format === 'csv' && running.name === 'ours' ? 1 : 0
  if (lines !== rowCount + header) throw new Error(`${running.name} has sent ${lines} lines`)
  return { cpu: (await cpuOf(running)) - before, time }
}

async function compare(type: Kind, place: string): Promise<void> {
  await seed(type, place)
  const runnings = await Promise.all(Object.keys(servers).map((name) => start(name, type, place)))
  const rounds = Number(process.env['BENCH_ROUNDS'] ?? 9)
  for (const format of ['ndjson', 'csv']) {
    const ratios = { cpu: [] as number[], time: [] as number[] }
    const figures = new Map(runnings.map(({ name }) => [name, { cpu: [] as number[], time: [] as number[] }]))
    for (let round = -2; round < rounds; round++) {
      const measured: Record<string, { readonly cpu: number; readonly time: number }> = {}
      for (const running of runnings.toSorted(() => Math.random() - 0.5)) {
        measured[running.name] = await measure(running, format)
      }
      const { ours: own, handwritten: other } = measured
      if (round < 0 || own === undefined || other === undefined) continue
      for (const unit of ['cpu', 'time'] as const) {
        ratios[unit].push(other[unit] / own[unit])
        figures.get('ours')?.[unit].push(own[unit])
        figures.get('handwritten')?.[unit].push(other[unit])
      }
    }
    for (const [name, { cpu, time }] of figures) {
      const speed = Math.round(rowCount / (median(time) / 1000))
      console.log(`${type} ${format}: ${name} ${median(cpu).toFixed(0)} ms of CPU, ${speed} rows/s`)
    }
    console.log(`${type} ${format}: ${median(ratios.cpu).toFixed(2)} by CPU, ${median(ratios.time).toFixed(2)} by time`)
  }
  for (const { child } of runnings) child.disconnect()
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'export-'))
  const { BENCH_POSTGRES_URL: postgres, BENCH_MARIADB_URL: mariadb } = process.env
  await compare('sqlite', join(folder, 'entries.sqlite'))
  if (postgres !== undefined) await compare('postgres', postgres)
  if (mariadb !== undefined) await compare('mariadb', mariadb)
  rmSync(folder, { recursive: true })
}

const build = servers[process.env['BENCH_SERVER'] ?? '']
if (build === undefined) void main()
else void serve(async () => (await build()).listen(0, '127.0.0.1'))
