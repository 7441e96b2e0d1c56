import { freePort } from '../client'
import { temporaryDirectory } from './cleanup'
import { ownerNamed } from './programs'
import { start } from './proxies'

/** A running Redis without persistence. */
export interface RedisServer {
  readonly port: number
  /** Ends the server. */
  readonly stop: () => Promise<void>
  /** Stops answering, with open connections, until `resume`. */
  readonly pause: () => void
  readonly resume: () => void
}

/** Starts Redis. @param port a free port by default */
export async function startRedis(port?: number): Promise<RedisServer> {
  const owner = await ownerNamed('redis', 'redis-server')
  const directory = temporaryDirectory(owner)
  const used = port ?? (await freePort())
  const options = ['--port', String(used), '--bind', '127.0.0.1', '--save', '', '--dir', directory]
  const child = await start({ name: 'redis-server', debian: 'redis-server', directory, port: used, owner, options })
  return {
    port: used,
    stop: async () => {
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
      child.kill('SIGTERM')
      await ended
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  }
}
