const { execFileSync } = require('node:child_process')
const { readFileSync, rmSync } = require('node:fs')
const { createInterface } = require('node:readline')

/**
 * Process that cleans up after a test file that could not do so itself: it was killed, ran out of memory, or lost its worker.
 * It reads from stdin what exists (`process 12 SIGKILL`, `mount /tmp/x`, `directory /tmp/x`, with `-` in front of what is gone), and
 * removes the rest when stdin ends.
 */
const kept = new Set()

createInterface({ input: process.stdin })
  .on('line', (line) => void (line.startsWith('-') ? kept.delete(line.slice(1)) : kept.add(line)))
  .on('close', () => void clearUp())

async function clearUp() {
  const trees = named('process')
    .map((line) => line.split(' '))
    .map(([pid, signal]) => ({ tree: treeOf(Number(pid)), signal }))
  for (const { tree, signal } of trees) {
    // A stopped process does not receive other signals before SIGCONT.
    for (const pid of tree) attempt(() => process.kill(pid, 'SIGCONT'))
    attempt(() => process.kill(tree[0], signal))
  }
  if (trees.length > 0) await new Promise((resolve) => setTimeout(resolve, 1_000))
  for (const pid of trees.flatMap(({ tree }) => tree)) attempt(() => process.kill(pid, 'SIGKILL'))
  for (const path of named('mount')) attempt(() => execFileSync('umount', ['--lazy', path], { stdio: 'ignore' }))
  for (const path of named('directory')) attempt(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
}

/** The values of a kind of line. */
function named(kind) {
  return [...kept].filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1))
}

/** The ids of a process and its child processes. */
function treeOf(pid) {
  const children = attempt(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) ?? ''
  return [pid, ...children.split(' ').filter(Boolean).map(Number)]
}

/** Ignores errors: what does not exist any more needs no cleanup. */
function attempt(work) {
  try {
    return work()
  } catch {
    return undefined
  }
}
