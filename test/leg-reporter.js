const { lines } = require('./left-out')

/** Jest reporter that prints the number of passed tests of each leg, and the legs and suites that were left out. */
module.exports = class {
  #legs = new Map()

  onTestResult({ context }, { numPassingTests, numFailingTests, numPendingTests, testExecError }) {
    const name = context.config.displayName?.name ?? 'unit'
    const leg = this.#legs.get(name) ?? { passed: 0, failed: 0, skipped: 0, seed: context.config.globals.testLeg?.seed }
    leg.passed += numPassingTests
    leg.failed += numFailingTests + (testExecError ? 1 : 0)
    leg.skipped += numPendingTests
    this.#legs.set(name, leg)
  }

  onRunComplete() {
    console.log('\nTests by leg')
    for (const [name, { passed, failed, skipped, seed }] of this.#legs) {
      const varied = seed === undefined ? '' : `, TEST_SEED=${seed}`
      console.log(`  ${name.padEnd(20)} ${passed} passed, ${failed} failed, ${skipped} skipped${varied}`)
    }
    for (const line of lines) console.log(`  ${line}`)
  }
}
