import { getHeapCodeStatistics } from 'node:v8'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { heapInUse } from '../support/heap'
import { openWorld, type World } from '../world/world'

/** mysql2 compiles and keeps a parser for each combination of columns in a result, which clients choose. */

@Entity()
@Resource({ auth: permitAll })
class Wide {
  @PrimaryGeneratedColumn() id!: number
}
const columns = Array.from({ length: 120 }, (_, index) => `column${index}`)
for (const [index, column] of columns.entries()) {
  Column({ type: index % 2 === 0 ? 'int' : 'double', nullable: true })(Wide.prototype, column)
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Wide], source: { poolSize: 1 } })
  expect((await post('wide', {})).status).toBe(201)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post } = apiOf(() => world.url)

/** Requests lists that lack other columns each: the bits of a number. */
async function request(first: number, last: number): Promise<void> {
  for (let start = first; start < last; start += 10) {
    const replies = Array.from({ length: 10 }, (_, index) => get(`wide?fields=${namesOf(start + index).join(',')}`))
    for (const { status } of await Promise.all(replies)) expect(status).toBe(200)
  }
}

function namesOf(bits: number): readonly string[] {
  return columns.filter((_, index) => index >= 20 || index % 2 === 0 || ((bits >> (index >> 1)) & 1) === 0)
}

/** Size of the compiled functions of the process, in bytes, after garbage collection. */
function codeInUse(): number {
  // V8 keeps compiled functions for a few collections.
  for (let round = 0; round < 8; round++) heapInUse()
  return getHeapCodeStatistics().bytecode_and_metadata_size
}

test('lists with many combinations of columns keep little code', async () => {
  await request(0, 300)
  const before = codeInUse()
  await request(300, 900)
  // 4.2 MB if all parsers are kept; 2.3 MB without those, because V8 frees compiled functions late.
  expect(codeInUse() - before).toBeLessThan(3 * 2 ** 20)
})
