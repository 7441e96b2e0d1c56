import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Cleanup of what a test file has started.
 * A separate process, the guard, also cleans up after a test run that was killed, so that no server outlives it.
 */
const guard = spawn(process.execPath, [join(__dirname, 'guard.js')], {
  stdio: ['pipe', 'ignore', 'ignore'],
  detached: true,
})
guard.unref()

const works: (() => unknown)[] = []

/** Registers work for the end of the test file. It is done in reverse order. */
export function atEnd(work: () => unknown): void {
  works.push(work)
}

afterAll(async () => {
  const faults: unknown[] = []
  for (const work of works.reverse()) await Promise.resolve(work()).catch((fault: unknown) => faults.push(fault))
  guard.stdin.end()
  if (faults.length > 0) throw new AggregateError(faults, 'not all could be ended')
})

function keep(what: string): () => void {
  guard.stdin.write(`${what}\n`)
  return () => void guard.stdin.write(`-${what}\n`)
}

/** Lets the guard end a process if the test run does not. @param signal the signal that ends it */
export function guardProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  child.once('exit', keep(`process ${child.pid} ${signal}`))
}

/** Creates an empty directory, which is deleted at the end. */
export function temporaryDirectory(owner?: { readonly uid: number; readonly gid: number }): string {
  const path = mkdtempSync(join(tmpdir(), 'resources-faults-'))
  const forget = keep(`directory ${path}`)
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
  atEnd(async () => {
    await rm(path, { recursive: true, force: true, maxRetries: 5 })
    forget()
  })
  return path
}

/** Mounts a file system of this size, in bytes, in memory. @returns undefined without the permission to mount */
export function mountMemory(size: number): string | undefined {
  const path = temporaryDirectory()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  const forget = keep(`mount ${path}`)
  atEnd(() => {
    execFileSync('umount', ['--lazy', path])
    forget()
  })
  return path
}

/** The ids of a process and its child processes, as Linux lists them. */
export function withChildren(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return [pid, ...children.split(' ').filter(Boolean).map(Number)]
}
