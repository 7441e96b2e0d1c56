import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { freePort } from '../client'
import { atEnd, guardProcess, temporaryDirectory, withChildren } from './cleanup'
import { binary, type Owner, ownerNamed } from './programs'
import { sleep, until } from './time'

/** A connection besides those of the site, with its own session. */
interface Connection {
  readonly query: (sql: string) => Promise<readonly Record<string, unknown>[]>
  readonly close: () => Promise<void>
}

/** A database server of the test on the loopback interface. The server and its files are deleted at the end. */
export interface Cluster {
  readonly name: 'PostgreSQL' | 'MariaDB'
  /** Options with which a data source connects to it. */
  readonly source: { readonly type: 'postgres' | 'mariadb'; readonly url: string }
  /** Resolves when the server accepts connections. */
  readonly start: () => Promise<void>
  /** Shuts the server down fast: it closes all connections and rolls open transactions back. */
  readonly stop: () => Promise<void>
  /** Kills the server with SIGKILL, as in a crash. */
  readonly kill: () => Promise<void>
  /** Stops all its processes with SIGSTOP: connections stay open, and nothing responds. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Closes every other connection. */
  readonly terminate: () => Promise<void>
  /** Does work while another session holds the locks of this statement, in a transaction that is committed afterwards. */
  readonly whileLocked: <T>(sql: string, work: (query: Connection['query']) => Promise<T>) => Promise<T>
  /** Runs a statement on a connection besides those of the site. */
  readonly query: Connection['query']
  /** Number of deadlocks that the server has resolved. */
  readonly deadlocks: () => Promise<number>
  /** Number of sessions that wait for a lock. */
  readonly lockWaits: () => Promise<number>
}

/** Differences between the servers. */
interface Kind {
  readonly name: Cluster['name']
  readonly source: Cluster['source']
  /** The database that exists after installation. */
  readonly first: Cluster['source']
  readonly command: string
  readonly options: readonly string[]
  readonly owner: Owner
  readonly log: string
  readonly stopSignal: NodeJS.Signals
  /** Signal that ends the server at the end of the tests, when its files may become corrupt. */
  readonly endSignal: NodeJS.Signals
  readonly terminate: (connection: Connection) => Promise<void>
  readonly deadlocks: (connection: Connection) => Promise<number>
  readonly lockWaits: string
}

const run = promisify(execFile)

/** Options of `initdb`. */
const newCluster = ['-U', 'test', '-E', 'UTF8', '--no-locale']
const passwordFile = 'password'
const password = 'secret'

/** Starts PostgreSQL. @param settings such as `deadlock_timeout=50ms` */
export function startPostgres(settings: readonly string[] = []): Promise<Cluster> {
  return startPostgresOn(['initdb', ...newCluster, '-A', 'trust'], settings)
}

/** Starts PostgreSQL, which demands a password of every connection. */
export function startPostgresWithPassword(): Promise<Cluster> {
  return startPostgresOn(['initdb', ...newCluster, '-A', 'scram-sha-256', '--pwfile', passwordFile], [], password)
}

/** Starts a PostgreSQL standby, a read-only replica of another server. */
export function startStandby(primary: Cluster, settings: readonly string[] = []): Promise<Cluster> {
  const options = ['-d', primary.source.url, '--write-recovery-conf', '--checkpoint=fast']
  return startPostgresOn(['pg_basebackup', ...options], settings)
}

/**
 * Starts PostgreSQL.
 * @param making the command that creates its files, without the directory
 * @param secret password of its user
 */
async function startPostgresOn(making: readonly string[], settings: readonly string[], secret = ''): Promise<Cluster> {
  const [maker = '', ...options] = making
  const owner = await ownerNamed('postgres', 'postgresql')
  const directory = temporaryDirectory(owner)
  const data = join(directory, 'data')
  if (secret !== '') writeFileSync(join(directory, passwordFile), secret)
  await run(binary(maker, 'postgresql'), [...options, '--no-sync', '-D', data], { ...owner, cwd: directory })
  const port = await freePort()
  const all = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'shared_buffers=16MB',
    'max_connections=80',
    ...settings,
  ]
  const log = join(directory, 'log')
  const source = { type: 'postgres', url: `postgres://test:${secret}@127.0.0.1:${port}/postgres` } as const
  return start({
    name: 'PostgreSQL',
    source,
    first: source,
    command: binary('postgres', 'postgresql'),
    options: ['-D', data, ...all.flatMap((setting) => ['-c', setting])],
    owner,
    log,
    stopSignal: 'SIGINT',
    endSignal: 'SIGQUIT',
    terminate: async ({ query }) => {
      const others = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
      const rows = await query(`SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`)
      // A process that has not ended yet could still answer: PgBouncer would pass its error to a new client.
      const pids = rows.map(({ pid }) => pid)
      await until('the processes of the connections have ended', async () => {
        const left = await query(`SELECT pid FROM pg_stat_activity WHERE pid = ANY('{${pids}}')`)
        return left.length === 0
      })
    },
    // The statistics may be ten seconds old.
    deadlocks: async () => readFileSync(log, 'utf8').split('ERROR:  deadlock detected').length - 1,
    lockWaits: 'SELECT count(*) AS value FROM pg_locks WHERE NOT granted',
  })
}

/** Starts MariaDB. @param settings such as `innodb-lock-wait-timeout=1` */
export async function startMariadb(settings: readonly string[] = []): Promise<Cluster> {
  const owner = await ownerNamed('mysql', 'mariadb-server')
  const directory = temporaryDirectory(owner)
  const data = join(directory, 'data')
  // A starting server deletes temporary files of other servers in a shared directory. Small files are created quickly.
  const plain = ['--no-defaults', `--datadir=${data}`, `--tmpdir=${directory}`, '--innodb-log-file-size=8M']
  const options = [...plain, '--auth-root-authentication-method=normal', '--skip-test-db']
  await run(binary('mariadb-install-db', 'mariadb-server'), options, { ...owner, cwd: directory })
  const port = await freePort()
  const all = [
    `port=${port}`,
    'bind-address=127.0.0.1',
    `socket=${join(directory, 'socket')}`,
    `pid-file=${join(directory, 'pid')}`,
    'skip-name-resolve',
    'performance-schema=OFF',
    'innodb-buffer-pool-size=32M',
    ...settings,
  ]
  const first = { type: 'mariadb', url: `mysql://root@127.0.0.1:${port}/mysql` } as const
  const cluster = await start({
    name: 'MariaDB',
    source: { type: 'mariadb', url: `mysql://root@127.0.0.1:${port}/site` },
    first,
    command: binary('mariadbd', 'mariadb-server'),
    options: [...plain, ...all.map((setting) => `--${setting}`)],
    owner,
    log: join(directory, 'log'),
    stopSignal: 'SIGTERM',
    endSignal: 'SIGKILL',
    terminate: async ({ query }) => {
      const rows = await query('SELECT ID AS id FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID()')
      // A connection that has just been closed is ignored.
      for (const { id } of rows) await query(`KILL ${id}`).catch(() => {})
    },
    deadlocks: (connection) => readNumber(connection, statusSql('Innodb_deadlocks')),
    lockWaits: statusSql('Innodb_row_lock_current_waits'),
  })
  await once(first, ({ query }) => query('CREATE DATABASE IF NOT EXISTS site'))
  return cluster
}

function statusSql(name: string): string {
  return `SELECT VARIABLE_VALUE AS value FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '${name}'`
}

async function start(kind: Kind): Promise<Cluster> {
  let server: ChildProcess | undefined
  const running = (): ChildProcess => {
    if (server === undefined) throw new Error(`${kind.name} does not run`)
    return server
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ended = running()
    server = undefined
    await endServer(ended, signal)
  }
  const launch = async (): Promise<void> => {
    server = await startServer(kind)
  }
  atEnd(() => (server === undefined ? undefined : end(kind.endSignal)))
  await launch()
  return {
    name: kind.name,
    source: kind.source,
    start: launch,
    stop: () => end(kind.stopSignal),
    kill: () => end('SIGKILL'),
    freeze: () => signalAll(running(), 'SIGSTOP'),
    thaw: () => signalAll(running(), 'SIGCONT'),
    terminate: () => once(kind.source, kind.terminate),
    whileLocked: (sql, work) => once(kind.source, (connection) => lockAround(connection, sql, work)),
    query: (sql) => once(kind.source, ({ query }) => query(sql)),
    deadlocks: () => once(kind.source, kind.deadlocks),
    lockWaits: () => once(kind.source, (connection) => readNumber(connection, kind.lockWaits)),
  }
}

async function startServer(kind: Kind): Promise<ChildProcess> {
  const log = openSync(kind.log, 'a')
  const server = spawn(kind.command, kind.options, { ...kind.owner, stdio: ['ignore', log, log] })
  guardProcess(server, kind.endSignal)
  const limit = Date.now() + 30_000
  while (!(await accepts(kind.first))) {
    if (server.exitCode === null && Date.now() < limit) await sleep(20)
    else throw new Error(`${kind.name} does not start:\n${readFileSync(kind.log, 'utf8').slice(-2000)}`)
  }
  return server
}

async function endServer(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exited = new Promise((resolve) => server.once('exit', resolve))
  // A stopped process does not receive other signals before SIGCONT.
  signalAll(server, 'SIGCONT')
  if (signal === 'SIGKILL') signalAll(server, signal)
  else server.kill(signal)
  await exited
}

function signalAll({ pid = 0 }: ChildProcess, signal: NodeJS.Signals): void {
  for (const one of withChildren(pid)) {
    try {
      process.kill(one, signal)
    } catch {
      // The process has just ended.
    }
  }
}

async function accepts(source: Cluster['source']): Promise<boolean> {
  try {
    await once(source, ({ query }) => query('SELECT 1'))
    return true
  } catch {
    return false
  }
}

async function once<T>(source: Cluster['source'], work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await connect(source)
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}

/** The column `value` of the only row of a result. */
async function readNumber({ query }: Connection, sql: string): Promise<number> {
  const [row] = await query(sql)
  return Number(row?.['value'])
}

async function lockAround<T>(
  { query }: Connection,
  sql: string,
  work: (query: Connection['query']) => Promise<T>,
): Promise<T> {
  await query('BEGIN')
  try {
    await query(sql)
    return await work(query)
  } finally {
    await query('COMMIT')
  }
}

async function connect(source: Cluster['source']): Promise<Connection> {
  const dataSource = await new DataSource({ ...source } as DataSourceOptions).initialize()
  const runner = dataSource.createQueryRunner()
  return {
    query: (sql) => runner.query(sql),
    close: async () => {
      await runner.release()
      await dataSource.destroy()
    },
  }
}
