import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { CommandError, messageOf } from '../command-error'

/** Size of a file to read, in bytes. @throws {CommandError} */
export async function readFileSize(file: string): Promise<number> {
  const found = await stat(file).catch((error: unknown) => {
    throw new CommandError(isMissing(error) ? `There is no file ${file}` : messageOf(error), 1)
  })
  if (found.isDirectory()) throw new CommandError(`${file} is a directory`, 1)
  return found.size
}

/** Path of the file with the state of the transfer of another file. */
export const statePath = (file: string): string => `${file}.progress`

/**
 * Reads what an earlier run has stored about its transfer.
 * @returns undefined if there was none, or it is complete
 * @throws {CommandError} also if this run has not ended
 */
export async function readState<State extends object>(path: string): Promise<State | undefined> {
  let state: State & { readonly pid?: number }
  try {
    state = JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw new CommandError(`${path} cannot be read; delete it to start again: ${messageOf(error)}`, 1)
  }
  if (state.pid !== undefined && isRunning(state.pid)) throw beingTransferred(path, state.pid)
  return state
}

/**
 * Reads the state of an earlier run, and stores that this process continues it.
 * @returns undefined if there was none, or it is complete
 * @throws {CommandError} if another process continues it, or does so at the same time
 */
export async function takeState<State extends object>(path: string): Promise<State | undefined> {
  if ((await readState(path)) === undefined) return undefined
  // Two processes could otherwise read the state before one of them has replaced it.
  const lock = `${path}.lock`
  await createState(lock, {})
  try {
    const state = await readState<State>(path)
    if (state !== undefined) await writeState(path, state)
    return state
  } finally {
    await removeFile(lock)
  }
}

/**
 * Stores the state of a transfer that this process begins.
 * @throws {CommandError} if another process has begun it at the same time
 */
export async function createState(path: string, state: object): Promise<void> {
  await writeFile(path, textOf(state), { flag: 'wx' }).catch((error: unknown) => {
    throw hasCode(error, 'EEXIST') ? beingTransferred(path) : error
  })
}

/** Replaces the file in one step: a process that is killed leaves the old state or the new one. */
export async function writeState(path: string, state: object): Promise<void> {
  await writeFile(`${path}.new`, textOf(state))
  await rename(`${path}.new`, path)
}

/**
 * The text of a state, with the id of the process, so that another process refuses to transfer the file. Otherwise both would
 * write into the same file, or create the records twice.
 */
const textOf = (state: object): string => `${JSON.stringify({ ...state, pid: process.pid })}\n`

function beingTransferred(path: string, pid?: number): CommandError {
  const other = pid === undefined ? 'Another process' : `Another process (${pid})`
  const message = `${other} is transferring this file: wait until it has ended. If there is none, delete ${path}`
  return new CommandError(message, 1)
}

function isRunning(pid: number): boolean {
  try {
    return pid !== process.pid && process.kill(pid, 0)
  } catch (error) {
    // The process belongs to another user.
    return hasCode(error, 'EPERM')
  }
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true })
}

export function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT')
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
