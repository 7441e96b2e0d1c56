/**
 * Compares writes of several records with Koa routes that run statements written by hand: `npm run bench:bulk`. The writes are a POST of
 * 5,000 records and a PATCH of the 1,000 records that match a filter. Measures the CPU time of the server's process and the duration, in
 * alternating windows. `BENCH_POSTGRES_URL` adds PostgreSQL, whose table is emptied.
 */
import 'reflect-metadata'
import Database from 'better-sqlite3'
import Koa, { type Context } from 'koa'
import { Pool } from 'pg'
import getRawBody from 'raw-body'
import { Entity, Index } from 'typeorm'
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

const rowCount = Number(process.env['BENCH_ROWS'] ?? 5000)
const changedCount = 1000

@Entity('bulk_entry')
@Index(['day'])
@Resource({ name: 'entry', auth: () => anonymous, bulk: rowCount })
class Entry extends EntryColumns {}

type Row = ReturnType<typeof rowOf>

/** Checks names, types and lengths, as the service does. @throws for a wrong value */
function checked(body: unknown): readonly Row[] {
  const rows = body as Row[]
  for (const row of rows) {
    for (const name of Object.keys(row)) if (!(columns as readonly string[]).includes(name)) throw new Error(name)
    const { minutes, day, note, phase, billed } = row
    if (!Number.isInteger(minutes) || Math.abs(minutes) > 2 ** 31) throw new Error('minutes')
    if (typeof day !== 'string' || day.length > 10 || typeof note !== 'string' || note.length > 100)
      throw new Error('text')
    if (phase !== null && (typeof phase !== 'string' || phase.length > 20)) throw new Error('phase')
    if (typeof billed !== 'boolean') throw new Error('billed')
  }
  return rows
}

interface Statements {
  readonly insert: (rows: readonly Row[]) => Promise<readonly object[]>
  readonly change: (day: string, note: string) => Promise<number>
}

/** Rows of one INSERT. */
const chunkRows = 200

function sqliteStatements(): Statements {
  const connection = new Database(database)
  const tuple = `(${columns.map(() => '?').join(', ')})`
  const insert = connection.prepare(
    `INSERT INTO bulk_entry (${columns.join(', ')}) VALUES ${Array(chunkRows).fill(tuple).join(', ')} RETURNING *`,
  )
  const change = connection.prepare('UPDATE bulk_entry SET note = ? WHERE day = ?')
  return {
    insert: async (rows) => {
      const stored: object[] = []
      connection.transaction(() => {
        for (let start = 0; start < rows.length; start += chunkRows) {
          const values = rows
            .slice(start, start + chunkRows)
            .flatMap((row) => columns.map((name) => toSqlite(row[name])))
          for (const row of insert.all(values) as Row[]) stored.push({ ...row, billed: Boolean(row.billed) })
        }
      })()
      return stored
    },
    change: async (day, note) => change.run(note, day).changes,
  }
}

const toSqlite = (value: unknown): unknown => (typeof value === 'boolean' ? Number(value) : value)

function postgresStatements(): Statements {
  const pool = new Pool({ connectionString: database })
  const tuples = Array.from(
    { length: chunkRows },
    (_, row) => `(${columns.map((_name, index) => `$${row * columns.length + index + 1}`).join(', ')})`,
  )
  const text = `INSERT INTO bulk_entry (${columns.join(', ')}) VALUES ${tuples.join(', ')} RETURNING *`
  return {
    insert: async (rows) => {
      const client = await pool.connect()
      const stored: object[] = []
      await client.query('BEGIN')
      for (let start = 0; start < rows.length; start += chunkRows) {
        const values = rows.slice(start, start + chunkRows).flatMap((row) => columns.map((name) => row[name]))
        stored.push(...(await client.query({ name: 'insert', text, values })).rows)
      }
      await client.query('COMMIT')
      client.release()
      return stored
    },
    change: async (day, note) =>
      (
        await pool.query({
          name: 'change',
          text: 'UPDATE bulk_entry SET note = $1 WHERE day = $2',
          values: [note, day],
        })
      ).rowCount ?? 0,
  }
}

function handwritten(): Koa {
  const { insert, change } = engine === 'sqlite' ? sqliteStatements() : postgresStatements()
  const bodyOf = async ({ req }: Context): Promise<unknown> => JSON.parse(String(await getRawBody(req)))
  return new Koa().use(async (context) => {
    const body = await bodyOf(context)
    if (context.method === 'POST') {
      const objects = await insert(checked(body))
      context.status = 201
      context.body = { meta: { model: 'entry', created: objects.length }, objects }
    } else {
      const updated = await change(String(context.query['day']), (body as Row).note)
      context.body = { meta: { model: 'entry', updated } }
    }
  })
}

/** Requests of one measurement. */
const repeats = 10

type Work = (origin: string) => Promise<void>

async function request(url: string, method: string, body: string, status: number, expected: RegExp): Promise<void> {
  const response = await fetch(url, { method, body, headers: { 'Content-Type': 'application/json' } })
  const text = await response.text()
  if (response.status !== status || !expected.test(text))
    throw new Error(`${url}: ${response.status} ${text.slice(0, 200)}`)
}

const posted = JSON.stringify(Array.from({ length: rowCount }, (_, index) => rowOf(index)))
let changes = 0
const works: readonly { readonly title: string; readonly rows: number; readonly run: Work }[] = [
  {
    title: `POST of ${rowCount}`,
    rows: rowCount,
    run: (origin) => request(`${origin}/api/entry/`, 'POST', posted, 201, new RegExp(`"created":${rowCount}`)),
  },
  {
    title: `PATCH of ${changedCount}`,
    rows: changedCount,
    run: (origin) =>
      request(
        `${origin}/api/entry/?day=2024-01-01`,
        'PATCH',
        JSON.stringify({ note: `changed ${++changes}` }),
        200,
        new RegExp(`"updated":${changedCount}`),
      ),
  },
]

/** Leaves only the rows that PATCH changes. */
async function prepare(type: Engine, target: string): Promise<void> {
  const source = await open(Entry, type, target)
  const entries = source.getRepository(Entry)
  await entries.clear()
  const rows = Array.from({ length: changedCount }, (_, index) => ({ ...rowOf(index), day: '2024-01-01' }))
  await entries.createQueryBuilder().insert().values(rows).updateEntity(false).execute()
  await source.destroy()
}

async function compare(running: readonly Running[], type: Engine): Promise<void> {
  for (const { title, rows, run } of works) {
    const comparison = await alternate(running, { rounds: 9, warmUps: 2 }, (server) =>
      measure(server, () => run(server.origin), repeats),
    )
    print(`${type}, ${title}`, comparison, rows)
  }
}

void runPair({ entity: Entry, handwritten, engines: ['sqlite', 'postgres'], prepare, compare })
