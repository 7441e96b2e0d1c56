import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DataSource } from 'typeorm'

export const root = resolve(__dirname, '..')
export const folder = mkdtempSync(join(tmpdir(), 'sample-'))

/** A way to start the sample. */
export interface Way {
  readonly name: string
  /** Of package.json. */
  readonly script: 'sample' | 'sample:0.3'
  /** That which goes on with what the first has stored. */
  readonly again: 'sample' | 'sample:0.3'
  readonly env: NodeJS.ProcessEnv
}

/** Without what the person who runs the tests may have set for other programs. */
export const environment: NodeJS.ProcessEnv = { ...process.env, DATABASE_URL: '' }
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

const variables = [
  ['postgres', 'TEST_POSTGRES_URL'],
  ['mariadb', 'TEST_MARIADB_URL'],
] as const

/** Servers that are there to test on. */
export const servers = variables.flatMap(([type, variable]) => {
  const url = process.env[variable]
  return url ? [{ type, url }] : []
})

export const ways: readonly Way[] = [
  { name: 'better-sqlite3', script: 'sample', again: 'sample', env: { DATABASE: join(folder, 'world.sqlite') } },
  {
    name: 'TypeORM 0.3 and sqlite3',
    script: 'sample:0.3',
    again: 'sample:0.3',
    env: { DATABASE: join(folder, 'world-0.3.sqlite') },
  },
  ...servers.map(
    ({ type, url }): Way => ({
      name: type,
      script: 'sample',
      again: 'sample:0.3',
      env: { DATABASE_URL: databaseAt(url, 'sample') },
    }),
  ),
]

/** The URL of a database of this run, which the run's teardown drops. */
export function databaseAt(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${process.env['TEST_RUN']}_${name}`
  return url.href
}

/** Creates the database of that name, and runs a statement there. */
export async function create({ type, url }: (typeof servers)[number], name: string, sql = 'SELECT 1'): Promise<void> {
  const own = databaseAt(url, name)
  for (const [at, text] of [
    [url, `CREATE DATABASE ${own.slice(own.lastIndexOf('/') + 1)}`],
    [own, sql],
  ] as const) {
    const dataSource = await new DataSource({ type, url: at }).initialize()
    await dataSource.query(text)
    await dataSource.destroy()
  }
}

export interface Sample {
  readonly url: string
  readonly printed: string
  readonly stop: () => Promise<number | null>
}

/** Starts the built sample as its script does, and waits until it says how to end it. */
export function start({ script, env }: Way, port: number, ...options: readonly string[]): Promise<Sample> {
  const [, ...words] = scripts[script]?.split(' ') ?? []
  const child = spawn(process.execPath, [...words, ...options], {
    cwd: root,
    env: { ...environment, ...env, PORT: String(port) },
  })
  let printed = ''
  return new Promise((done, fail) => {
    child.stderr.on('data', (chunk) => fail(new Error(String(chunk))))
    child.stdout.on('data', (chunk) => {
      printed += chunk
      if (printed.includes('Ctrl-C')) done({ url: `http://127.0.0.1:${port}`, printed, stop: () => interrupt(child) })
    })
  })
}

function interrupt(child: ChildProcess): Promise<number | null> {
  return new Promise((done) => {
    child.once('exit', done)
    child.kill('SIGINT')
  })
}
