const { execFileSync } = require('node:child_process')
const { randomBytes } = require('node:crypto')
const { resolve } = require('node:path')
const { Client } = require('pg')

/** PostgreSQL's extensions that have column types. */
const extensions = ['uuid-ossp', 'citext', 'hstore', 'ltree', 'cube']

/** Builds the package and the sample once, for the tests that use them as their users do, and names the run's own databases. */
module.exports = async () => {
  execFileSync('npm', ['run', '--silent', 'sample:build'], { cwd: resolve(__dirname, '..'), stdio: 'inherit' })
  const run = `resources_${randomBytes(4).toString('hex')}`
  process.env.TEST_RUN = run
  const server = process.env.TEST_POSTGRES_URL
  if (!server) return
  await query(server, `CREATE DATABASE ${run}`)
  const own = new URL(server)
  own.pathname = `/${run}`
  for (const extension of extensions) await query(own.href, `CREATE EXTENSION "${extension}"`)
  process.env.TEST_POSTGRES_RUN_URL = own.href
}

async function query(connectionString, sql) {
  const client = new Client({ connectionString })
  await client.connect()
  await client.query(sql)
  await client.end()
}
