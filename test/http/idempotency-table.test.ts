import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DataSource, Table } from 'typeorm'
import { IdempotencyKey } from 'typeorm-resources'
import { leg } from '../world/leg'
import { openDataSource } from '../world/world'

/** The table of the entity IdempotencyKey, on all databases. */

/**
 * Statements that `synchronize` would run. With the driver `mysql`, TypeORM does not know that MariaDB stores JSON as
 * `longtext`, and would create every column of JSON again.
 */
async function differences({ driver }: DataSource): Promise<readonly string[]> {
  const statements = (await driver.createSchemaBuilder().log()).upQueries.map(({ query }) => query)
  return leg.driver === 'mysql' ? statements.filter((sql) => !sql.includes('`response`')) : statements
}

test('synchronize creates the table, and finds no difference afterwards', async () => {
  const dataSource = await openDataSource([IdempotencyKey])
  expect(await differences(dataSource)).toEqual([])
  await dataSource.destroy()
})

test('the migration of the documentation creates the same table', async () => {
  const page = readFileSync(join(__dirname, '../../docs/how-to/repeat-requests.md'), 'utf8')
  const [definition = ''] = /new Table\(\{.*?^ {6}\}\)/ms.exec(page) ?? []
  const table: Table = new Function('Table', `return ${definition}`)(Table)
  const dataSource = await openDataSource([IdempotencyKey])
  const runner = dataSource.createQueryRunner()
  await runner.dropTable('idempotency_key')
  await runner.createTable(table)
  await runner.release()
  expect(await differences(dataSource)).toEqual([])
  await dataSource.destroy()
})
