import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll })
class Bag {
  @PrimaryGeneratedColumn() id!: number
  @Column(isPostgres ? { type: 'hstore', hstoreType: 'object' } : { type: 'simple-json' }) pairs!: object
  @Column({ type: 'varchar', length: 10, default: '' }) label!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Bag], mount: { limits: { body: 32 << 20 } } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, post, put } = apiOf(() => world.url)

/** Longer than `simple-json` can be on MariaDB. */
const long: [what: string, pairs: object][] = [
  ['a text of 10 MB', { a: 'x'.repeat(10_000_000), b: null }],
  ['a text of 4 million characters to escape', { a: '"\\'.repeat(2_000_000) }],
]

test.each<[what: string, pairs: object]>([
  ['nothing', {}],
  ['nulls', { a: null, b: '', NULL: 'NULL', c: null }],
  ['characters of its text form', { '"': '\\', '\\"': '"=>"', '=>': ', ', 'a\n': '\\\\', ' ': '"' }],
  ['control characters next to escaped ones', { '\n"': '\t\\\u0001"\r\u001f', '\u007f\\': '\u2028"' }],
  ...(isMariadb ? [] : long),
])('an hstore can contain %s', async (_, pairs) => {
  const made = await post('bag', { pairs })
  const { id } = made.json() as { id: number }
  expect([made.status, same(made.json(), { id, pairs, label: '' })]).toEqual([201, true])
  expect(same((await get(`bag/${id}/`)).json(), { id, pairs, label: '' })).toBe(true)
  expect(same((await put(`bag/${id}`, { label: 'new' })).json(), { id, pairs, label: 'new' })).toBe(true)
  expect((await send(world.url, `DELETE /api/bag/${id}/`)).status).toBe(204)
})

/** Compares like `toEqual`, which would print megabytes. */
function same(actual: unknown, expected: Record<string, unknown>): boolean {
  const sorted = (value: unknown): string =>
    JSON.stringify(value, (__, member: unknown) =>
      typeof member === 'object' && member !== null
        ? Object.fromEntries(Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)))
        : member,
    )
  return sorted(actual) === sorted(expected)
}
