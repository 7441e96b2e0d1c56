const { AsyncLocalStorage } = require('node:async_hooks')
const { writeSync } = require('node:fs')
const { TestEnvironment } = require('jest-environment-node')
require('./script-cache')

/**
 * Lets worker processes exit fast.
 * Jest ends a worker with SIGTERM if it has not exited 500 ms after its last test, and reports that tests leak. V8 may need longer to
 * free the heap of a worker that has run a hundred files on a busy machine: 130 to 260 ms were measured after ten files. Therefore a
 * worker without open handles exits without freeing the heap, which takes 10 to 25 ms. A worker with an open handle prints what is open.
 */
if (process.send !== undefined) {
  process.once('exit', () => process.exit())
  process.once('SIGTERM', () => {
    writeSync(2, `jest has ended worker ${process.pid}; open: ${process.getActiveResourcesInfo().join(', ')}\n`)
    process.exit(143)
  })
}

/** The storages that the modules of the current test file have used. */
const storages = new Set()
for (const method of ['run', 'enterWith']) {
  const original = AsyncLocalStorage.prototype[method]
  AsyncLocalStorage.prototype[method] = function (...parameters) {
    storages.add(this)
    return original.apply(this, parameters)
  }
}

/**
 * Test environment that turns off each `AsyncLocalStorage` of a test file at its end. Node.js keeps all that were used, and copies their
 * values for every new promise. 115 test files in one process took 142 s of CPU time with this, and 156 s without.
 */
module.exports = class extends TestEnvironment {
  async teardown() {
    for (const storage of storages) storage.disable()
    storages.clear()
    await super.teardown()
  }
}
