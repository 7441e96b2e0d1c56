import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DataSource } from 'typeorm'

export const root = resolve(__dirname, '..')
/** Temporary directory for the databases of the sample. */
export const folder = mkdtempSync(join(tmpdir(), 'sample-'))

/** A way to start the sample: script of package.json and environment. */
export interface Way {
  readonly name: string
  /** Script of package.json. */
  readonly script: 'sample' | 'sample:0.3' | 'sample:tracker'
  /** Script that is started second, with the database of the first. */
  readonly secondScript: 'sample' | 'sample:0.3'
  readonly env: NodeJS.ProcessEnv
}

/** Environment without variables that the developer may have set for other programs. */
export const environment: NodeJS.ProcessEnv = { ...process.env, DATABASE_URL: '' }
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

const variables = [
  ['postgres', 'TEST_POSTGRES_URL'],
  ['mariadb', 'TEST_MARIADB_URL'],
] as const

/** The database servers that are available for tests. */
export const servers = variables.flatMap(([type, variable]) => {
  const url = process.env[variable]
  return url ? [{ type, url }] : []
})

/** All ways to start the sample on the available databases. */
export const ways: readonly Way[] = [
  { name: 'better-sqlite3', script: 'sample', secondScript: 'sample', env: { DATABASE: join(folder, 'world.sqlite') } },
  {
    name: 'TypeORM 0.3 and sqlite3',
    script: 'sample:0.3',
    secondScript: 'sample:0.3',
    env: { DATABASE: join(folder, 'world-0.3.sqlite') },
  },
  ...servers.map(
    ({ type, url }): Way => ({
      name: type,
      script: 'sample',
      secondScript: 'sample:0.3',
      env: { DATABASE_URL: databaseAt(url, 'sample') },
    }),
  ),
]

/** The URL of a database of this test run, which `teardown.js` drops. */
export function databaseAt(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${process.env['TEST_RUN']}_${name}`
  return url.href
}

/** Creates a database with this name, and runs a statement in it. */
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

/** The running sample. */
export interface Sample {
  readonly url: string
  readonly printed: string
  readonly stop: () => Promise<number | null>
}

/** Starts the built sample with its script of package.json, and waits until it prints how to stop it. */
export function start(
  { script, env }: Pick<Way, 'script' | 'env'>,
  port: number,
  ...options: readonly string[]
): Promise<Sample> {
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
