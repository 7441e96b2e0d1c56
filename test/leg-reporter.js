/** Prints how many tests have passed on each leg, and which legs were left out for want of a server. */
module.exports = class {
  #legs = new Map()

  onTestResult({ context }, { numPassingTests, numFailingTests, numPendingTests, testExecError }) {
    const name = context.config.displayName?.name ?? 'unit'
    const leg = this.#legs.get(name) ?? { passed: 0, failed: 0, skipped: 0 }
    leg.passed += numPassingTests
    leg.failed += numFailingTests + (testExecError ? 1 : 0)
    leg.skipped += numPendingTests
    this.#legs.set(name, leg)
  }

  onRunComplete() {
    console.log('\nTests by leg')
    for (const [name, { passed, failed, skipped }] of this.#legs) {
      console.log(`  ${name.padEnd(20)} ${passed} passed, ${failed} failed, ${skipped} skipped`)
    }
    const legs = require('./legs')
    for (const { name, server } of legs) {
      if (server && !process.env[server]) console.log(`  ${name.padEnd(20)} not run: set ${server}`)
    }
  }
}
