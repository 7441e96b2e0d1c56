const { execFileSync } = require('node:child_process')
const { readFileSync, rmSync } = require('node:fs')
const { createInterface } = require('node:readline')

/**
 * Clears up behind a test file that has come to no end of its own: killed, out of memory, its worker gone. It reads what there
 * is (`process 12 SIGKILL`, `mount /tmp/x`, `directory /tmp/x`, with `-` before what is gone), and ends what is left when its
 * input does.
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
    // One that is frozen hears nothing.
    for (const pid of tree) attempt(() => process.kill(pid, 'SIGCONT'))
    attempt(() => process.kill(tree[0], signal))
  }
  if (trees.length > 0) await new Promise((resolve) => setTimeout(resolve, 1_000))
  for (const pid of trees.flatMap(({ tree }) => tree)) attempt(() => process.kill(pid, 'SIGKILL'))
  for (const path of named('mount')) attempt(() => execFileSync('umount', ['--lazy', path], { stdio: 'ignore' }))
  for (const path of named('directory')) attempt(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
}

/** What follows the kind in its lines. */
function named(kind) {
  return [...kept].filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1))
}

/** A process and its children. */
function treeOf(pid) {
  const children = attempt(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) ?? ''
  return [pid, ...children.split(' ').filter(Boolean).map(Number)]
}

/** What is gone already needs no end. */
function attempt(work) {
  try {
    return work()
  } catch {
    return undefined
  }
}
