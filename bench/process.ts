import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import type { Deployment } from './implementations'
import type { Usage } from './serve'

/** The server of a deployment, in a process of its own. */
export interface Running {
  readonly deployment: Deployment
  readonly origin: string
  /** From the start of the process until it listens, in milliseconds. */
  readonly startTime: number
  readonly usage: () => Promise<Usage>
  readonly stop: () => Promise<void>
}

const canPinProcesses = process.platform === 'linux' && cpus().length > 1

/** Pins this process, which sends the requests, to the second core. The servers run on the first. */
export function pinToSecondCore(): void {
  if (canPinProcesses) execFileSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)], { stdio: 'ignore' })
}

export async function startServer(deployment: Deployment, file: string, database: string): Promise<Running> {
  const start = performance.now()
  const [command, ...prefix] = canPinProcesses ? ['taskset', '-c', '0', process.execPath] : [process.execPath]
  const child = spawn(String(command), [...prefix, file], {
    env: { ...process.env, ...deployment.implementation.environment, NODE_ENV: 'production', BENCH_DATABASE: database },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const { port } = await message<{ readonly port: number }>(child)
  const startTime = performance.now() - start
  return {
    deployment,
    origin: `http://127.0.0.1:${port}`,
    startTime,
    usage: () => {
      const usage = message<Usage>(child)
      child.send('usage')
      return usage
    },
    stop: async () => {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

/** Waits for the next message of a process. @throws if the process exits before */
async function message<T>(child: ChildProcess): Promise<T> {
  // Removes both listeners: the processes get thousands of messages.
  const settled = new AbortController()
  const exited = once(child, 'exit', settled).then(([code]) => {
    throw new Error(`${child.spawnargs.join(' ')} has exited with code ${code}`)
  })
  try {
    const [first] = await Promise.race([once(child, 'message', settled), exited])
    return first as T
  } finally {
    settled.abort()
  }
}
