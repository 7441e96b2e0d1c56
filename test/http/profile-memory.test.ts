import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import type { Principal } from 'typeorm-resources'
import { byHeader } from '../agency/entities'
import { send } from '../client'
import { heapInUse } from '../support/heap'
import { openWorld, type World } from '../world/world'

@Entity()
class Wide {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Wide) parent!: Wide | null
}
const columns = Array.from({ length: 300 }, (_, index) => `column${index}`)
for (const column of columns) Column({ type: 'int', nullable: true })(Wide.prototype, column)

/** Permissions of one column each: the bits of the id of a principal. Every principal has other field permissions. */
const fields = Object.fromEntries(
  columns.slice(0, 9).map((column, bit) => [column, { read: ({ id }: Principal) => ((Number(id) >> bit) & 1) === 0 }]),
)

let world: World
beforeAll(async () => {
  const resources = [{ entity: Wide, fields, scope: () => true }]
  world = await openWorld({ entities: [Wide], mount: { defaultAuth: byHeader, resources } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

/** Sends a request through a relation to a resource with a row scope, as each of these principals. */
async function getAs(first: number, last: number): Promise<void> {
  for (let id = first; id <= last; id++) {
    const headers = { 'x-person': String(id) }
    expect((await send(world.url, 'GET /api/wide/?parent__id=1', { headers })).status).toBe(200)
  }
}

test('field permissions that are evicted from memory are not kept by cached queries', async () => {
  // 30,000 fields are kept: about 100 combinations of permissions.
  await getAs(1, 130)
  const before = heapInUse()
  await getAs(131, 230)
  expect(heapInUse() - before).toBeLessThan(12 * 2 ** 20)
})
