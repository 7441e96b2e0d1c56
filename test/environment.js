const { writeSync } = require('node:fs')
const { TestEnvironment } = require('jest-environment-node')

/**
 * Jest ends a worker with SIGTERM when it has not exited 500 ms after its last test, and says that tests leak. V8 may take longer
 * to free the heap of a worker that has run a hundred files, on a machine that has other work: 130 to 260 ms were measured after
 * ten files. A worker with nothing left to do therefore exits without freeing it, which takes 10 to 25 ms. One with an open handle
 * says what is open.
 */
if (process.send !== undefined) {
  process.once('exit', () => process.exit())
  process.once('SIGTERM', () => {
    writeSync(2, `jest has ended worker ${process.pid}; open: ${process.getActiveResourcesInfo().join(', ')}\n`)
    process.exit(143)
  })
}

module.exports = TestEnvironment
