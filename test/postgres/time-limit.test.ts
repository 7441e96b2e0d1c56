import type { QueryRunner } from 'typeorm'
import { openWorld, type World } from '../world/world'

/** Reads the time limit in the way of the service's statements, which end in this comment. */
const showInService = 'SHOW statement_timeout /* typeorm-resources */'

let world: World
let runner: QueryRunner
let client: { query: (text: unknown) => Promise<{ rows: readonly unknown[] }> }
beforeAll(async () => {
  world = await openWorld({ mount: { statementTimeout: 5000 } })
  runner = world.dataSource.createQueryRunner()
  client = await runner.connect()
})
afterAll(async () => {
  await runner.release()
  await world.close()
})

describe.each([
  'ROLLBACK',
  ' rollback work;',
  'ABORT',
  '/* by the application */ ROLLBACK',
  '-- by the application\nROLLBACK',
  { text: 'ROLLBACK' },
])('a transaction that ends with %j', (ending) => {
  test('the time limit applies to statements of the service, and not to others', async () => {
    const seen = async (): Promise<unknown> => (await client.query('SHOW statement_timeout')).rows[0]
    const own = async (): Promise<unknown> => (await client.query(showInService)).rows[0]
    // The limit is reset inside of the transaction, whose rollback sets it again.
    expect(await own()).toEqual(['5s'])
    await client.query('BEGIN')
    expect(await seen()).toEqual({ statement_timeout: '0' })
    await client.query(ending)
    expect(await seen()).toEqual({ statement_timeout: '0' })
    // The limit is set inside of the transaction, whose rollback resets it.
    await client.query('BEGIN')
    expect(await own()).toEqual(['5s'])
    await client.query(ending)
    expect(await own()).toEqual(['5s'])
  })
})

test.each([
  ['0', '5s'],
  ['1200ms', '1200ms'],
  ['3s', '3s'],
  ['2min', '5s'],
])('if the connection has the limit %s, a statement of the service has %s', async (own, seen) => {
  const source = { extra: { options: `-c statement_timeout=${own}` } }
  const limited = await openWorld({ mount: { statementTimeout: 5000 }, source })
  const other = limited.dataSource.createQueryRunner()
  const connection: typeof client = await other.connect()
  expect(await connection.query(showInService)).toMatchObject({ rows: [[seen]] })
  expect(await connection.query('SHOW statement_timeout')).toMatchObject({ rows: [{ statement_timeout: own }] })
  await other.release()
  await limited.close()
})
