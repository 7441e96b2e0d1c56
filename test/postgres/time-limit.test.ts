import type { QueryRunner } from 'typeorm'
import { openWorld, type World } from '../world/world'

/** The time limit as a statement of this service sees it: they end in this comment. */
const seenByOwn = 'SHOW statement_timeout /* typeorm-resources */'

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
  test('leaves the time limit to statements of this service, and takes it from others', async () => {
    const seen = async (): Promise<unknown> => (await client.query('SHOW statement_timeout')).rows[0]
    const own = async (): Promise<unknown> => (await client.query(seenByOwn)).rows[0]
    // The limit is taken away inside of the transaction, whose end brings it back.
    expect(await own()).toEqual(['5s'])
    await client.query('BEGIN')
    expect(await seen()).toEqual({ statement_timeout: '0' })
    await client.query(ending)
    expect(await seen()).toEqual({ statement_timeout: '0' })
    // And the reverse.
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
])('where the connection itself has the limit %s, that of this service is %s', async (own, seen) => {
  const source = { extra: { options: `-c statement_timeout=${own}` } }
  const limited = await openWorld({ mount: { statementTimeout: 5000 }, source })
  const other = limited.dataSource.createQueryRunner()
  const connection: typeof client = await other.connect()
  expect(await connection.query(seenByOwn)).toMatchObject({ rows: [[seen]] })
  expect(await connection.query('SHOW statement_timeout')).toMatchObject({ rows: [{ statement_timeout: own }] })
  await other.release()
  await limited.close()
})
