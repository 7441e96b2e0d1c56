const { execFileSync } = require('node:child_process')
const { resolve } = require('node:path')

/** Builds the package and the sample once, for the tests that use them as their users do. */
module.exports = () => {
  execFileSync('npm', ['run', '--silent', 'sample:build'], { cwd: resolve(__dirname, '..'), stdio: 'inherit' })
}
