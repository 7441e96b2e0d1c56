import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Koa from 'koa'
import { Column, DataSource, type DataSourceOptions, type ObjectType, PrimaryGeneratedColumn } from 'typeorm'
import { mountResources } from 'typeorm-resources'
import { type Engine, engineOf, serverUrls } from './engines'
import { median } from './report'
import { database, serve, type Usage } from './serve'

export type { Engine }

/** Engine of the database of this process. */
export const engine = engineOf(database)

/** Columns of the tables for requests that write or read many rows. */
export abstract class EntryColumns {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') minutes!: number
  @Column({ length: 10 }) day!: string
  @Column({ length: 100 }) note!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) phase!: string | null
  @Column() billed!: boolean
}

/** Names of the columns without the key. */
export const columns = ['minutes', 'day', 'note', 'phase', 'billed'] as const

/** The values of a row, without the key. */
export const rowOf = (index: number) => ({
  minutes: index % 480,
  day: `2025-01-${10 + (index % 20)}`,
  note: `Worked on "task ${index % 50}", as in the plan of the project`,
  phase: index % 4 === 0 ? null : 'build',
  billed: index % 2 === 0,
})

/** Opens a data source, and creates its table. @param target path of the SQLite file, or URL of the server */
export function open(entity: ObjectType<EntryColumns>, type: Engine, target: string): Promise<DataSource> {
  return new DataSource({
    ...(type === 'sqlite' ? { type: 'better-sqlite3', database: target, enableWAL: true } : { type, url: target }),
    entities: [entity],
    synchronize: true,
  } as DataSourceOptions).initialize()
}

/** Server in a process of its own. */
export interface Running {
  readonly name: 'ours' | 'handwritten'
  readonly child: ChildProcess
  readonly origin: string
}

/** CPU time of a server's process and duration, in milliseconds. */
export interface Figures {
  readonly cpu: number
  readonly time: number
}

/** Figures of both servers, one for each round. */
export type Comparison = Readonly<Record<Running['name'], readonly Figures[]>>

/** Benchmark that compares this library with a Koa application with statements written by hand. */
export interface Pair {
  readonly entity: ObjectType<EntryColumns>
  readonly options?: Parameters<typeof mountResources>[2]
  readonly handwritten: () => Koa
  readonly engines: readonly Engine[]
  /** Writes the initial rows, before the servers start. */
  readonly prepare: (type: Engine, target: string) => Promise<void>
  readonly compare: (running: readonly Running[], type: Engine, target: string) => Promise<void>
}

/**
 * Compares both servers on SQLite, and on the databases whose URLs are in `BENCH_POSTGRES_URL` and `BENCH_MARIADB_URL`. In a
 * process that {@link start} has started, it runs one of the servers.
 */
export async function runPair(pair: Pair): Promise<void> {
  const name = process.env['BENCH_SERVER']
  if (name !== undefined) {
    const app = name === 'ours' ? await ours(pair) : pair.handwritten()
    return serve(() => app.listen(0, '127.0.0.1'))
  }
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const databases: Readonly<Partial<Record<Engine, string>>> = { sqlite: join(folder, 'entries.sqlite'), ...serverUrls }
  for (const type of pair.engines) {
    const target = databases[type]
    if (target === undefined) continue
    await pair.prepare(type, target)
    const running = await Promise.all([start('ours', target), start('handwritten', target)])
    await pair.compare(running, type, target)
    for (const { child } of running) child.disconnect()
  }
  rmSync(folder, { recursive: true })
}

async function ours({ entity, options }: Pair): Promise<Koa> {
  const app = new Koa()
  mountResources(app, await open(entity, engine, database), options)
  return app
}

/** Starts this program once more, as a server. */
async function start(name: Running['name'], target: string): Promise<Running> {
  const env = { ...process.env, NODE_ENV: 'production', BENCH_SERVER: name, BENCH_DATABASE: target }
  const child = fork(String(process.argv[1]), { env })
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
  return { name, child, origin: `http://127.0.0.1:${port}` }
}

/** Measures some work of a server. @returns the figures of one of `repeats` */
export async function measure({ child }: Running, work: () => Promise<void>, repeats = 1): Promise<Figures> {
  const cpu = async (): Promise<number> => {
    child.send('usage')
    const [usage] = (await once(child, 'message')) as [Usage]
    return usage.cpu
  }
  const before = await cpu()
  const begin = performance.now()
  for (let repeat = 0; repeat < repeats; repeat++) await work()
  const time = performance.now() - begin
  return { cpu: ((await cpu()) - before) / repeats, time: time / repeats }
}

/** Measures the servers in turn, in random order. `BENCH_ROUNDS` replaces the number of rounds. */
export async function alternate(
  running: readonly Running[],
  defaults: { readonly rounds: number; readonly warmUps: number },
  work: (server: Running) => Promise<Figures>,
): Promise<Comparison> {
  const figures = { ours: [] as Figures[], handwritten: [] as Figures[] }
  const rounds = Number(process.env['BENCH_ROUNDS'] ?? defaults.rounds)
  for (let round = -defaults.warmUps; round < rounds; round++) {
    for (const server of running.toSorted(() => Math.random() - 0.5)) {
      const measured = await work(server)
      if (round >= 0) figures[server.name].push(measured)
    }
  }
  return figures
}

/** Prints the medians of the figures, and how many times as much the server written by hand takes. @param rows of one request */
export function print(title: string, comparison: Comparison, rows: number): void {
  for (const name of ['ours', 'handwritten'] as const) {
    const cpu = median(comparison[name].map((one) => one.cpu)).toFixed(1)
    const time = median(comparison[name].map((one) => one.time))
    console.log(`${title}: ${name} ${cpu} ms of CPU, ${time.toFixed(1)} ms, ${Math.round(rows / (time / 1000))} rows/s`)
  }
  const ratio = (unit: keyof Figures): string =>
    median(comparison.ours.map((one, round) => (comparison.handwritten[round]?.[unit] ?? 0) / one[unit])).toFixed(2)
  console.log(`${title}: ${ratio('cpu')} by CPU, ${ratio('time')} by time`)
}
