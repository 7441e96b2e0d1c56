import { setTimeout } from 'node:timers/promises'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/**
 * Connections that are closed while statements run. An `error` event of a connection without a listener would end the process: the
 * listener of mysql2's pool receives only the first one, and TypeORM adds none beside it.
 */

@Entity()
@Resource({ auth: permitAll })
class Item {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Item] })
  await world.dataSource.getRepository(Item).insert({ title: 'a' })
})
afterAll(() => world.close())

/** A statement with so many placeholders is closed after each execution. */
const large = `GET /api/item/?id__in=${Array.from({ length: 300 }, (_, index) => index).join()}`

test('a data source can be destroyed while statements run', async () => {
  for (let delay = 0; delay < 20; delay++) {
    const replies = Array.from({ length: 8 }, () => send(world.url, large))
    await setTimeout(delay)
    await world.dataSource.destroy()
    for (const { status } of await Promise.all(replies)) expect([200, 503]).toContain(status)
    await world.dataSource.initialize()
    expect((await send(world.url, large)).status).toBe(200)
  }
})

/** The id of the connection that waits for a table lock with a statement on the items. */
async function waitingConnection(): Promise<number> {
  for (;;) {
    const [found] = await world.dataSource.query(
      "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%' AND INFO LIKE '%item%' AND DB = DATABASE()",
    )
    if (found !== undefined) return Number(found.id)
    await setTimeout(10)
  }
}

test.each([
  ['that is kept prepared', 'GET /api/item/?title=a'],
  ['that is not kept prepared', large],
])('a connection that is lost during a statement %s makes the response 503', async (_, line) => {
  expect((await send(world.url, line)).status).toBe(200)
  const locker = world.dataSource.createQueryRunner()
  try {
    await locker.query('LOCK TABLES item WRITE')
    const reply = send(world.url, line)
    await world.dataSource.query(`KILL ${await waitingConnection()}`)
    expect((await reply).status).toBe(503)
  } finally {
    await locker.query('UNLOCK TABLES')
    await locker.release()
  }
  // Errors of connections are emitted later.
  await setTimeout(100)
  expect((await send(world.url, line)).status).toBe(200)
})
