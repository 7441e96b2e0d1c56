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
 * @throws {CommandError}
 */
export async function readState<State>(path: string): Promise<State | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw new CommandError(`${path} cannot be read; delete it to start again: ${messageOf(error)}`, 1)
  }
}

/** Replaces the file in one step: a process that is killed leaves the old state or the new one. */
export async function writeState(path: string, state: object): Promise<void> {
  await writeFile(`${path}.new`, `${JSON.stringify(state)}\n`)
  await rename(`${path}.new`, path)
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true })
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
