import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findProgram, places } from '../programs'

export type Owner = { readonly uid: number; readonly gid: number } | undefined

const run = promisify(execFile)

/** The user that a server runs as where we are root, as which it does not; else we ourselves. */
export async function ownerNamed(name: string, debian: string): Promise<Owner> {
  if (process.getuid?.() !== 0) return undefined
  const ask = async (what: string): Promise<number> => Number((await run('id', [what, name])).stdout)
  try {
    return { uid: await ask('-u'), gid: await ask('-g') }
  } catch {
    throw new Error(`no user ${name} to run the server as: apt-get install ${debian}`)
  }
}

/** @throws {Error} that says which package of Debian has it */
export function binary(name: string, debian: string): string {
  const found = findProgram(name)
  if (found === undefined) throw new Error(`no ${name} in ${places().join(', ')}: apt-get install ${debian}`)
  return found
}
