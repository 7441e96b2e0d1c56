import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { IdempotencyKey, Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { AuditLine } from '../support/audit-line'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Item {
  @PrimaryGeneratedColumn() id!: number
  @Column() amount!: number
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Audited {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) code!: number
  @Column() amount!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Item] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)

/** Statement that changes the type of a column; on SQLite another one, since its columns accept every type. */
const changeOf = (table: string): string =>
  isPostgres
    ? `ALTER TABLE "${table}" ALTER COLUMN "amount" TYPE numeric(5)`
    : isMariadb
      ? `ALTER TABLE "${table}" MODIFY "amount" bigint NOT NULL`
      : `ALTER TABLE "${table}" ADD COLUMN "other" text`

test('requests still succeed after a table has been changed while the site runs and has prepared statements', async () => {
  const readAll = async (): Promise<readonly unknown[]> => {
    const made = await post('item', { amount: 1 })
    const id = Object(made.json()).id
    const changed = await put(`item/${id}`, { amount: 2 })
    return [made.status, changed.status, (await get(`item/${id}`)).status, (await get('item?amount__gte=2')).status]
  }
  // Requests on every connection of the pool.
  for (let time = 0; time < 3; time++) await Promise.all([1, 2, 3, 4, 5].map(readAll))
  await world.sql(changeOf('item'))
  const responses = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(readAll))
  expect(responses).toEqual(responses.map(() => [201, 200, 200, 200]))
})

test('the same for requests in a transaction, which the first error has aborted', async () => {
  const audited = await openWorld({
    entities: [Audited, AuditLine, IdempotencyKey],
    mount: {
      audit: { entity: AuditLine },
      batch: true,
      ...(isPostgres && { databaseSettings: () => ({ 'app.user': 'ann' }) }),
    },
  })
  await send(audited.url, 'POST /api/audited/', { body: '{"code":1,"amount":1}', headers: jsonType })
  let last = 0
  const writeAll = async (): Promise<readonly number[]> => {
    last += 10
    const code = last
    const json = async (request: string, body: unknown, headers = {}): Promise<number> =>
      (await send(audited.url, request, { body: JSON.stringify(body), headers: { ...jsonType, ...headers } })).status
    const path = `/api/audited/?code=${code}`
    return [
      await json('POST /api/audited/', { code, amount: 1 }),
      await json('POST /api/audited/?on_conflict=code', { code, amount: 2 }),
      await json('POST /api/audited/', { code: code + 1, amount: 1 }, { 'Idempotency-Key': `key-${code}` }),
      await json('POST /api/audited/', [{ code: code + 2, amount: 1 }]),
      await json('POST /api/-/batch', [{ method: 'POST', path: '/api/audited/', body: { code: code + 3, amount: 1 } }]),
      (await send(audited.url, `GET ${path}`)).status,
      (await send(audited.url, 'GET /api/audited/1/')).status,
      await json(`PATCH ${path}`, { amount: 3 }),
      (await send(audited.url, `DELETE ${path}`)).status,
    ]
  }
  try {
    for (let time = 0; time < 3; time++) await Promise.all([1, 2, 3, 4, 5].map(writeAll))
    await audited.sql(changeOf('audited'))
    const responses = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(writeAll))
    expect(responses).toEqual(responses.map(() => [201, 200, 201, 201, 200, 200, 200, 200, 200]))
    expect(audited.faults).toEqual([])
  } finally {
    await audited.close()
  }
})

const jsonType = { 'Content-Type': 'application/json' }
