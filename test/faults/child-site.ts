import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { MountOptions } from 'typeorm-resources'
import { atEnd, guardProcess } from './cleanup'
import type { SourceOptions } from './site'
import { until } from './time'

/** Options of the site in a child process. */
export interface ChildOptions {
  readonly source: SourceOptions
  readonly mount?: MountOptions
  /** Port of a Redis that passes the changes of live lists to other processes. */
  readonly redisPort?: number
  /** Milliseconds of delay before each request reaches the service. */
  readonly slow?: number
  /** Options of `closeGracefully`, which SIGTERM calls. */
  readonly closing?: { readonly timeout?: number }
  /** Number of worker processes (`node:cluster`). Default: no workers. */
  readonly workers?: number
  /** Environment variables of the process, besides those of the tests. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Message from a child process to its parent. */
export interface ChildState {
  readonly url?: string
  /** Number of requests that have arrived. */
  readonly running?: number
  /** Number of writes that wait without end, after a parcel whose tag ends with `-hold`. */
  readonly held?: number
  /** Message of the latest error that reached Koa's `error` event. */
  readonly fault?: string
  readonly closed?: { readonly isDone: boolean; readonly isInitialized: boolean }
}

/** A site in a child process. */
export interface ChildSite {
  readonly url: string
  /** The latest value of each property. */
  readonly news: ChildState
  /** What the process has written to stderr. */
  readonly errors: () => string
  readonly pid: number | undefined
  readonly isUp: () => boolean
  /** Sends a signal. @returns the exit code, or the signal that ended the process */
  readonly end: (signal: NodeJS.Signals) => Promise<number | NodeJS.Signals | null>
}

/** Starts the site in a child process, which an unhandled rejection would end. */
export async function startChildSite({ environment, ...options }: ChildOptions): Promise<ChildSite> {
  const child = fork(join(__dirname, 'child.ts'), [JSON.stringify(options)], {
    execArgv: ['--require', join(__dirname, 'register.js')],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, ...environment },
  })
  guardProcess(child)
  const news: { -readonly [Name in keyof ChildState]: ChildState[Name] } = {}
  child.on('message', (one: ChildState) => Object.assign(news, one))
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const isUp = (): boolean => child.exitCode === null && child.signalCode === null
  atEnd(() => (isUp() ? end(child, 'SIGKILL') : undefined))
  // A process takes a second to start, and much longer on a busy machine.
  await until('the site starts', () => news.url !== undefined || !isUp(), 90_000)
  if (news.url === undefined) throw new Error(`the site does not start:\n${errors}`)
  return { url: news.url, news, errors: () => errors, pid: child.pid, isUp, end: (signal) => end(child, signal) }
}

function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
  return new Promise((resolve) => {
    child.once('exit', (code, by) => resolve(code ?? by))
    child.kill(signal)
  })
}
