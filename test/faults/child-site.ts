import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { atEnd, guardProcess } from './cleanup'
import type { SourceOptions } from './site'
import { until } from './time'

/** How the site of a child process is to be. */
export interface ChildOptions {
  readonly source: SourceOptions
  /** How long each request takes before it comes to us, in milliseconds. */
  readonly slow?: number
  /** Given to `closeGracefully`, which SIGTERM calls. */
  readonly closing?: { readonly timeout?: number }
  /** How many processes serve it by `node:cluster`. Default: the one. */
  readonly workers?: number
}

/** What a child process says of itself. */
export interface ChildNews {
  readonly url?: string
  /** Requests that have come. */
  readonly running?: number
  readonly closed?: { readonly isDone: boolean; readonly isInitialized: boolean }
}

export interface ChildSite {
  readonly url: string
  /** The last of each kind. */
  readonly news: ChildNews
  /** What it has written to its error output. */
  readonly errors: () => string
  readonly pid: number | undefined
  readonly isUp: () => boolean
  /** @returns how it ended: its exit code, or the signal */
  readonly end: (signal: NodeJS.Signals) => Promise<number | NodeJS.Signals | null>
}

/** Starts the site in a process of its own, which an unhandled rejection would end. */
export async function startChildSite(options: ChildOptions): Promise<ChildSite> {
  const child = fork(join(__dirname, 'child.ts'), [JSON.stringify(options)], {
    execArgv: ['--require', join(__dirname, 'register.js')],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  guardProcess(child)
  const news: { -readonly [Name in keyof ChildNews]: ChildNews[Name] } = {}
  child.on('message', (one: ChildNews) => Object.assign(news, one))
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const isUp = (): boolean => child.exitCode === null && child.signalCode === null
  atEnd(() => (isUp() ? end(child, 'SIGKILL') : undefined))
  await until('the site starts', () => news.url !== undefined || !isUp())
  if (news.url === undefined) throw new Error(`the site does not start:\n${errors}`)
  return { url: news.url, news, errors: () => errors, pid: child.pid, isUp, end: (signal) => end(child, signal) }
}

function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
  return new Promise((resolve) => {
    child.once('exit', (code, by) => resolve(code ?? by))
    child.kill(signal)
  })
}
