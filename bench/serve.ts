import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a server tells of itself. */
export interface Usage {
  /** User and system time, in milliseconds. */
  readonly cpu: number
  /** Resident memory, in bytes. */
  readonly memory: number
}

/** Where a server's data are: the path of a SQLite file, or the URL of a PostgreSQL or MariaDB. */
export const database = process.env['BENCH_DATABASE'] ?? ''

/** Listens on a free port, says it to the process that started this one, and answers each of its messages with its usage. */
export async function serve(start: () => Promise<Server> | Server): Promise<void> {
  const server = await start()
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  process.send?.({ port: (server.address() as AddressInfo).port })
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    const usage: Usage = { cpu: (user + system) / 1000, memory: process.memoryUsage().rss }
    process.send?.(usage)
  })
  process.on('disconnect', () => process.exit())
}
