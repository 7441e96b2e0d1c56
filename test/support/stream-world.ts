import type { Socket } from 'node:net'
import { Column, type DataSource, type DataSourceOptions, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { type MountOptions, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { isMariadb, isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'
import { permitAll } from './access'
import { insertRows } from './insert-rows'
import { openPaused } from './paused-client'

/** A resource whose records have more bytes than the buffers of a connection can hold. */
@Entity()
@Resource({ auth: permitAll, formats: true })
export class Reading {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') level!: number
  @Column({ type: 'varchar', length: 2000 }) note!: string
}

export const readingCount = 20_000
const applicationName = `streams_${process.pid}`

/** A service with 40 MB of readings. */
export interface StreamWorld extends World {
  /**
   * Lines that the data source has logged, without the warnings about the time limit of the application's statements and
   * about classes that only other tests use.
   */
  readonly lines: readonly string[]
  /** Number of connections of the service that the server executes a statement for, or holds a transaction for. */
  readonly busyConnections: () => Promise<number>
  /** @param client IP address of the client */
  readonly get: (path: string, client?: string) => Promise<Reply>
  /** Requests all readings, and does not read the response. @param client IP address of the client */
  readonly openPaused: (client?: string) => Promise<Socket>
}

/** @param poolSize number of connections. Default: that of the leg */
export async function openStreamWorld(mount: MountOptions = {}, poolSize?: number): Promise<StreamWorld> {
  const extra = isPostgres ? { options: `-c application_name=${applicationName}` } : {}
  const pool = poolSize === undefined ? {} : { poolSize }
  const world = await openWorld({
    entities: [Reading],
    mount,
    before: (app) => {
      app.proxy = true
    },
    source: isSqlite ? {} : ({ ...pool, extra } as Partial<DataSourceOptions>),
    seed: async (dataSource) => {
      const note = 'n'.repeat(2000)
      const rows = Array.from({ length: 200 }, (_, level) => ({ level, note }))
      await insertRows(dataSource, Reading, rows)
      const table = dataSource.driver.escape('reading')
      for (let count = 200; count < readingCount; count *= 10) {
        const source = `SELECT level, note FROM ${table}`
        await dataSource.query(`INSERT INTO ${table} (level, note) ${Array(9).fill(source).join(' UNION ALL ')}`)
      }
    },
  })
  const lines: string[] = []
  const { logger } = world.dataSource
  logger.log = (level, line) => void (/statement_timeout|has @Resource/.test(line) || lines.push(`${level} ${line}`))
  return {
    ...world,
    lines,
    busyConnections: async () => {
      if (isSqlite) return 0
      if (isMariadb) return busyInMariadb(world.dataSource)
      const [row] = await world.dataSource.query(busyInPostgres)
      return Number(row.busy)
    },
    get: (path, client = '127.0.0.1') =>
      send(world.url, `GET /api/${path}`, { headers: { 'X-Forwarded-For': client } }),
    openPaused: (client = '127.0.0.1') =>
      openPaused(
        world.url,
        `GET /api/reading/?format=ndjson HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${client}\r\nConnection: close\r\n\r\n`,
      ),
  }
}

const busyInPostgres = `SELECT count(*) AS busy FROM pg_stat_activity
  WHERE application_name = '${applicationName}' AND state <> 'idle' AND pid <> pg_backend_pid()`

/**
 * Reads the transactions from the status of InnoDB. The table `information_schema.innodb_trx` is a copy that is only
 * renewed when no query has read it for 0.1 seconds: a test that reads it more often never sees the end of a transaction.
 */
async function busyInMariadb(dataSource: DataSource): Promise<number> {
  const processes: { id: string; isRunning: string }[] = await dataSource.query(
    `SELECT id, command <> 'Sleep' AND id <> CONNECTION_ID() AS isRunning
      FROM information_schema.processlist WHERE db = DATABASE()`,
  )
  const [{ Status }]: [{ Status: string }] = await dataSource.query('SHOW ENGINE INNODB STATUS')
  const transactions = Status.split('---TRANSACTION ')
    .slice(1)
    .filter((text) => !/^[^\n]*not started/.test(text))
  const inTransaction = new Set(transactions.map((text) => /thread id (\d+)/.exec(text)?.[1]))
  return processes.filter(({ id, isRunning }) => Number(isRunning) === 1 || inTransaction.has(String(id))).length
}

/** Number of connections that one streamed list holds while its client reads nothing. */
export const heldByStream = isPostgres || isMariadb ? 1 : 0

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Waits until a condition holds. @throws {Error} after some milliseconds */
export async function until(condition: () => Promise<boolean>, milliseconds: number): Promise<void> {
  for (const end = Date.now() + milliseconds; !(await condition()); await pause(20))
    if (Date.now() > end) throw new Error('the condition does not hold in time')
}
