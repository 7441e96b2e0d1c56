/**
 * Compares an export of 100,000 rows with a Koa route that renders the rows of the driver's cursor: `npm run bench:export`. Measures the
 * CPU time of the server's process for one export, in alternating windows. `BENCH_POSTGRES_URL` and `BENCH_MARIADB_URL` add databases.
 */
import 'reflect-metadata'
import { get } from 'node:http'
import { Readable } from 'node:stream'
import Database from 'better-sqlite3'
import { stringify } from 'csv-stringify/sync'
import Koa from 'koa'
import { createPool, type PoolConnection } from 'mysql2'
import { Pool } from 'pg'
import QueryStream from 'pg-query-stream'
import { Entity } from 'typeorm'
import { anonymous, Resource } from 'typeorm-resources'
import {
  alternate,
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

@Entity('export_entry')
@Resource({ name: 'entry', auth: () => anonymous, formats: true })
class Entry extends EntryColumns {}

const rowCount = Number(process.env['BENCH_ROWS'] ?? 100_000)

async function prepare(type: Engine, target: string): Promise<void> {
  const source = await open(Entry, type, target)
  const entries = source.getRepository(Entry)
  await entries.clear()
  for (let start = 0; start < rowCount; start += 1000) {
    const rows = Array.from({ length: 1000 }, (_, index) => rowOf(start + index))
    await entries.createQueryBuilder().insert().values(rows).updateEntity(false).execute()
  }
  await source.destroy()
}

type Row = Readonly<Record<string, unknown>>
const sql = 'SELECT id, minutes, day, note, phase, billed FROM export_entry ORDER BY id'

/** Opens the database. @returns a function that reads the rows with the driver's cursor */
function rowsOf(): () => Iterable<Row> | AsyncIterable<Row> {
  if (engine === 'sqlite') {
    const statement = new Database(database, { readonly: true }).prepare(sql)
    return () => statement.iterate() as Iterable<Row>
  }
  if (engine === 'postgres') {
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

/** Renders batches of 200 rows. */
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
  const shown = engine === 'postgres' ? (row: Row) => row : (row: Row) => ({ ...row, billed: row['billed'] === 1 })
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

/** Receives an export. @throws if it does not have all rows */
async function receive({ name, origin }: Running, format: string): Promise<void> {
  let lines = 0
  await new Promise((resolve, reject) => {
    get(`${origin}/api/entry/?format=${format}`, { agent: false }, (incoming) => {
      incoming.on('data', (chunk: Buffer) => {
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1
      })
      incoming.on('end', resolve).on('error', reject)
    }).on('error', reject)
  })
  const header = format === 'csv' && name === 'ours' ? 1 : 0
  if (lines !== rowCount + header) throw new Error(`${name} has sent ${lines} lines, not ${rowCount + header}`)
}

async function compare(running: readonly Running[], type: Engine): Promise<void> {
  for (const format of ['ndjson', 'csv']) {
    const comparison = await alternate(running, { rounds: 9, warmUps: 2 }, (server) =>
      measure(server, () => receive(server, format)),
    )
    print(`${type} ${format}`, comparison, rowCount)
  }
}

void runPair({ entity: Entry, handwritten, engines: ['sqlite', 'postgres', 'mariadb'], prepare, compare })
