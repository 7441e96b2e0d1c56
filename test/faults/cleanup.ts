import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * What a test file has started and must end. The guard is a process of its own, so that servers do not outlive a run that was
 * killed either.
 */
const guard = spawn(process.execPath, [join(__dirname, 'guard.js')], {
  stdio: ['pipe', 'ignore', 'ignore'],
  detached: true,
})
guard.unref()

const works: (() => unknown)[] = []

/** Does work when the tests of the file are done, the last first. */
export function atEnd(work: () => unknown): void {
  works.push(work)
}

afterAll(async () => {
  const faults: unknown[] = []
  for (const work of works.reverse()) await Promise.resolve(work()).catch((fault: unknown) => faults.push(fault))
  guard.stdin.end()
  if (faults.length > 0) throw new AggregateError(faults, 'not all could be ended')
}, 60_000)

function keep(what: string): () => void {
  guard.stdin.write(`${what}\n`)
  return () => void guard.stdin.write(`-${what}\n`)
}

/** Names a process to the guard until it has ended. @param signal ends it, and lets it clear up if it must */
export function guardProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  child.once('exit', keep(`process ${child.pid} ${signal}`))
}

/** An empty directory that is gone at the end. */
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

/** Mounts a file system of this size, in bytes, in memory. @returns undefined where we may not */
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

/** A process and its children, as Linux lists them. */
export function withChildren(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return [pid, ...children.split(' ').filter(Boolean).map(Number)]
}
