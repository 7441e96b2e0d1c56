import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DataSourceOptions } from 'typeorm'
import { leg } from '../world/leg'

/** A connection of better-sqlite3 or sqlite3. */
export interface SqliteConnection {
  readonly open: boolean
  readonly close: (done?: (...results: unknown[]) => void) => unknown
}

/** A SQLite database in a file of its own. */
export interface SqliteFile {
  readonly path: string
  /** Options of a data source for the file, with WAL. */
  readonly source: Partial<DataSourceOptions>
  /** All connections that have been opened with these options, in order. */
  readonly connections: readonly SqliteConnection[]
  /** Number of handles of this process for the file, its WAL and its index. */
  readonly handles: () => number
  /** Makes opening another connection fail. */
  readonly refuse: () => void
  readonly remove: () => void
}

type Opener = new (...parameters: unknown[]) => SqliteConnection

/** Creates the folder of a database, and options that record the connections that TypeORM opens. */
export function sqliteFile(): SqliteFile {
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-'))
  const path = join(folder, 'test.sqlite')
  const connections: SqliteConnection[] = []
  let isRefused = false
  const recording = (Original: Opener): Opener =>
    function open(...parameters: unknown[]): SqliteConnection {
      if (isRefused) throw new Error('SQLITE_BUSY: database is locked')
      const connection = new Original(...parameters)
      connections.push(connection)
      return connection
    } as unknown as Opener
  const load = createRequire(__filename)
  const driver =
    leg.driver === 'better-sqlite3'
      ? recording(load('better-sqlite3') as Opener)
      : recordingModule(load('sqlite3') as Sqlite3, recording)
  return {
    path,
    source: { database: path, enableWAL: true, driver } as Partial<DataSourceOptions>,
    connections,
    handles: () => openFiles().filter((file) => file.startsWith(path)).length,
    refuse: () => {
      isRefused = true
    },
    remove: () => rmSync(folder, { recursive: true }),
  }
}

interface Sqlite3 {
  readonly Database: Opener
}

function recordingModule(sqlite3: Sqlite3, recording: (original: Opener) => Opener): Sqlite3 {
  const recorded: Sqlite3 = Object.create(sqlite3, {
    Database: { value: recording(sqlite3.Database) },
    verbose: { value: () => recorded },
  })
  return recorded
}

function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`)
    } catch {
      // The handle with which the directory was read.
      return ''
    }
  })
}
