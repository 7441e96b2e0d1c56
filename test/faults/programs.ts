import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findProgram, searchPath } from '../programs'

/** User and group that a server process runs as; undefined for those of the tests. */
export type Owner = { readonly uid: number; readonly gid: number } | undefined

const run = promisify(execFile)

/** The user id that a server runs as: that of its package when the tests run as root, with which the servers refuse to start. */
export async function ownerNamed(name: string, debian: string): Promise<Owner> {
  if (process.getuid?.() !== 0) return undefined
  const readId = async (what: string): Promise<number> => Number((await run('id', [what, name])).stdout)
  try {
    return { uid: await readId('-u'), gid: await readId('-g') }
  } catch {
    throw new Error(`no user ${name} to run the server as: apt-get install ${debian}`)
  }
}

/** Finds the path of a program. @throws {Error} that names the Debian package with the program */
export function binary(name: string, debian: string): string {
  const found = findProgram(name)
  if (found === undefined) throw new Error(`no ${name} in ${searchPath().join(', ')}: apt-get install ${debian}`)
  return found
}
