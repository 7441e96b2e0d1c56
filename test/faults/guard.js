const { execFileSync } = require('node:child_process')
const { readFileSync, rmSync } = require('node:fs')
const { createInterface } = require('node:readline')

/**
 * Clears up behind a test file that has come to no end of its own: killed, out of memory, its worker gone. It reads what there
 * is (`process 12`, `mount /tmp/x`, `directory /tmp/x`, with `-` before what is gone), and ends what is left when its input does.
 */
const kept = new Set()

createInterface({ input: process.stdin })
  .on('line', (line) => void (line.startsWith('-') ? kept.delete(line.slice(1)) : kept.add(line)))
  .on('close', () => {
    for (const kind of ['process', 'mount', 'directory'])
      for (const [, name] of [...kept].map((one) => one.split(/ (.*)/s)).filter(([own]) => own === kind))
        end[kind](name)
  })

const end = {
  process: (pid) => {
    for (const one of [...childrenOf(pid), Number(pid)]) attempt(() => process.kill(one, 'SIGKILL'))
  },
  mount: (path) => attempt(() => execFileSync('umount', ['--lazy', path], { stdio: 'ignore' })),
  directory: (path) => attempt(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 })),
}

function childrenOf(pid) {
  return (
    attempt(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)) ??
    []
  )
}

/** What is gone already needs no end. */
function attempt(work) {
  try {
    return work()
  } catch {
    return undefined
  }
}
