import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Resource usage of a server's process. */
export interface Usage {
  /** User and system time, in milliseconds. */
  readonly cpu: number
  /** Resident memory, in bytes. */
  readonly memory: number
}

/** Database of a server: the path of a SQLite file, or the URL of PostgreSQL or MariaDB. */
export const database = process.env['BENCH_DATABASE'] ?? ''

/** Starts a server, sends its port to the parent process, and responds to each message of it with the usage of this process. */
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
