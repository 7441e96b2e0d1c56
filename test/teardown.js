const mysql = require('mysql2/promise')
const { Client } = require('pg')

/** Jest's global teardown: drops the databases of the run, whose names have its prefix. */
module.exports = async () => {
  const run = process.env.TEST_RUN
  if (process.env.TEST_POSTGRES_URL) {
    const client = new Client({ connectionString: process.env.TEST_POSTGRES_URL })
    await client.connect()
    const { rows } = await client.query('SELECT datname AS name FROM pg_database')
    for (const { name } of rows.filter((row) => row.name.startsWith(run)))
      await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await client.end()
  }
  if (process.env.TEST_MARIADB_URL) {
    const connection = await mysql.createConnection(process.env.TEST_MARIADB_URL)
    const [rows] = await connection.query('SELECT schema_name AS name FROM information_schema.schemata')
    for (const { name } of rows.filter((row) => row.name.startsWith(run)))
      await connection.query(`DROP DATABASE ${name}`)
    await connection.end()
  }
}
