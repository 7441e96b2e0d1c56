import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { setOnce } from '../support/mysql-session'
import { idsOf, readPages } from '../support/pages'
import { openWorld } from '../world/world'

/** Sorting uses only `max_sort_length` bytes of a text's collation weights, but comparison with a cursor uses all of them. */

@Entity()
@Resource({ auth: permitAll, paging: 'keyset' })
class Title {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 255, charset: 'utf8mb4' }) plain!: string
  @Column({ type: 'varchar', length: 255, charset: 'utf8mb4', collation: 'utf8mb4_unicode_ci' }) wide!: string
  @Column({ type: 'text', charset: 'utf8mb4', collation: 'utf8mb4_unicode_ci' }) story!: string
}

const ends = ['d', 'a', 'c', 'b', 'f', 'e', 'h', 'g']
/** Characters with 1, 4 and 8 collation weights. */
const beginnings = ['x', '\u3389', '\ufdfa']
const idsInOrder = ends
  .map((_, index) => index + 1)
  .sort((one, other) => ((ends[one - 1] ?? '') < (ends[other - 1] ?? '') ? -1 : 1))

test.each(['SET max_sort_length = 1024', 'SET max_sort_length = 64'])(
  'keyset paging over texts that differ in their last character: %s',
  async (settings) => {
    const world = await openWorld({ entities: [Title], seed: (dataSource) => setOnce(dataSource, settings) })
    const { post, ids } = apiOf(() => world.url)
    for (const beginning of beginnings) {
      await world.sql('DELETE FROM title')
      await world.sql('ALTER TABLE title AUTO_INCREMENT = 1')
      for (const end of ends) {
        const text = beginning.repeat(254) + end
        expect((await post('title', { plain: text, wide: text, story: text })).status).toBe(201)
      }
      for (const field of ['plain', 'wide', 'story']) {
        for (const [ordering, expected] of [
          [field, idsInOrder],
          [`-${field}`, idsInOrder.toReversed()],
        ] as const) {
          const read = idsOf(await readPages(world.url, `/api/title/?ordering=${ordering}&limit=2`))
          expect([beginning, ordering, read]).toEqual([beginning, ordering, expected])
        }
      }
    }
    // A page with several long texts in its ordering.
    expect(await ids('title/?ordering=story,wide,plain&limit=100')).toEqual(idsInOrder)
    await world.close()
    expect(world.faults).toEqual([])
  },
)

test('a greater max_sort_length of the server is kept', async () => {
  const seed = (dataSource: Parameters<typeof setOnce>[0]) => setOnce(dataSource, 'SET max_sort_length = 9216')
  const world = await openWorld({ entities: [Title], seed, source: { poolSize: 1 } })
  await apiOf(() => world.url).ids('title/')
  expect(await world.sql('SELECT @@max_sort_length AS bytes')).toMatchObject([{ bytes: '9216' }])
  await world.close()
})
