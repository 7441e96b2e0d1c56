import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

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
  const found = find(name)
  if (found === undefined) throw new Error(`no ${name} in ${places().join(', ')}: apt-get install ${debian}`)
  return found
}

/** `describe`, where there is the program that the tests are about. */
export function describeWith(name: string): jest.Describe {
  return find(name) === undefined ? describe.skip : describe
}

function find(name: string): string | undefined {
  return places()
    .map((place) => join(place, name))
    .find(isExecutable)
}

function places(): readonly string[] {
  return [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', ...postgresPlaces()]
}

/** Debian keeps PostgreSQL's own commands out of PATH, each version's beside the others. */
function postgresPlaces(): readonly string[] {
  const base = '/usr/lib/postgresql'
  return existsSync(base) ? readdirSync(base).map((version) => join(base, version, 'bin')) : []
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
