import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import type { Contestant } from './contestants'
import type { Usage } from './serve'

/** A contestant's server, in a process of its own. */
export interface Running {
  readonly contestant: Contestant
  readonly origin: string
  /** From the start of the process until it listens, in milliseconds. */
  readonly startTime: number
  readonly usage: () => Promise<Usage>
  readonly stop: () => Promise<void>
}

const hasCores = process.platform === 'linux' && cpus().length > 1

/** Has this process, which makes the load, run on the second core; the servers are on the first. */
export function takeSecondCore(): void {
  if (hasCores) execFileSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)], { stdio: 'ignore' })
}

export async function startServer(contestant: Contestant, file: string, database: string): Promise<Running> {
  const start = performance.now()
  const [command, first] = hasCores ? ['taskset', ['-c', '0', process.execPath]] : [process.execPath, []]
  const child = spawn(command, [...first, file], {
    env: { ...process.env, ...contestant.environment, NODE_ENV: 'production', BENCH_DATABASE: database },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const { port } = await message<{ readonly port: number }>(child)
  const startTime = performance.now() - start
  return {
    contestant,
    origin: `http://127.0.0.1:${port}`,
    startTime,
    usage: () => {
      const answer = message<Usage>(child)
      child.send('usage')
      return answer
    },
    stop: async () => {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}

/** The next message, or the end of the process as an error; neither is listened for longer than that. */
async function message<T>(child: ChildProcess): Promise<T> {
  const heard = new AbortController()
  const ended = once(child, 'exit', heard).then(([code]) => {
    throw new Error(`${child.spawnargs.join(' ')} ended with ${code}`)
  })
  try {
    const [first] = await Promise.race([once(child, 'message', heard), ended])
    return first as T
  } finally {
    heard.abort()
  }
}
