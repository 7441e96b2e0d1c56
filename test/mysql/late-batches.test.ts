import { Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { prepareRunner } from '../../src/dialect/mysql/connection'
import { openMysqlCursor } from '../../src/dialect/mysql/cursor-rows'
import { openWorld, type World } from '../world/world'

/** Batches of a streamed list that arrive at about the time at which they are cancelled. */

@Entity()
@Resource()
class Reading {
  @PrimaryGeneratedColumn() id!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Reading] })
})
afterAll(() => world.close())

test('the cancellation of a batch that is late does not interrupt the next statement', async () => {
  const runner = world.dataSource.createQueryRunner()
  prepareRunner(runner, 10_000)
  for (let round = 0; round < 60; round++) {
    const batchTime = 1 + (round % 5)
    const options = { rows: 10, bytes: 1000, sizeOf: () => 1, batchTime, totalTime: 10_000 }
    const cursor = await openMysqlCursor(runner, `SELECT SLEEP(${(batchTime + 1) / 1000})`, [], options)
    // It may be cancelled in time, too.
    await cursor.next().catch(() => undefined)
    await cursor.close()
    // SLEEP returns 1 if it is interrupted.
    const [{ interrupted }] = await runner.query('SELECT SLEEP(0.02) AS interrupted')
    expect(Number(interrupted)).toBe(0)
  }
  await runner.release()
})
