const { execFileSync } = require('node:child_process')
const { randomBytes } = require('node:crypto')
const { resolve } = require('node:path')
const { Client } = require('pg')

/** PostgreSQL extensions whose column types are tested. */
const extensions = ['uuid-ossp', 'citext', 'hstore', 'ltree', 'cube']

/** Jest's global setup: builds the package and the sample once, and creates a PostgreSQL database for the run. */
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
