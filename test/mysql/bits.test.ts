import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Transformers on `bit` columns: the database compares such a column with a number, not with bytes. */

const bitTransformer = (to: (value: boolean) => unknown) => ({
  to: (value: boolean | null) => (value === null ? null : to(value)),
  from: (stored: Buffer | null) => stored && stored[0] === 1,
})

@Entity()
@Resource({ auth: permitAll })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'bit', nullable: true, transformer: bitTransformer((value) => Buffer.from([Number(value)])) })
  buffer!: boolean
  @Column({ type: 'bit', nullable: true, transformer: bitTransformer((value) => Uint8Array.of(Number(value))) })
  array!: boolean
  @Column({ type: 'bit', nullable: true, transformer: bitTransformer((value) => value) }) same!: boolean
}

const fields = ['buffer', 'array', 'same'] as const

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Task] })
  for (const value of [true, false, null]) {
    const values = Object.fromEntries(fields.map((field) => [field, value]))
    expect((await post('task', values)).json()).toMatchObject(values)
  }
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { ids, post } = apiOf(() => world.url)

test.each(
  fields.flatMap((field) =>
    (
      [
        ['=true', [1]],
        ['=false', [2]],
        ['__ne=true', [2]],
        ['__in=true', [1]],
        ['__in=true,false', [1, 2]],
        ['__is=true', [1]],
        ['__is=false', [2]],
        ['__is=null', [3]],
      ] as const
    ).map(([filter, found]) => [`${field}${filter}`, found] as const),
  ),
)('filters find bits that a transformer shows as booleans: %s', async (query, found) => {
  expect(await ids(`task?${query}`)).toEqual(found)
})
