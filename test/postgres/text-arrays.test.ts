import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Column, type DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** The service parses arrays of texts itself, because pg's parser takes 0.1 seconds for 1 MB. The results must be the same. */

@Entity()
@Resource({ auth: permitAll })
class Words {
  @PrimaryGeneratedColumn() id!: number
  @Column('text', { array: true, nullable: true }) texts!: unknown
  @Column('varchar', { array: true, nullable: true }) names!: unknown
}

/** Arrays that clients cannot write: of several dimensions, and with other bounds. */
const literals = [
  '{{a,NULL},{"b c","\\"\\\\"}}',
  '{{{a},{"}"}},{{"{"},{"NULL"}}}',
  '[0:1]={a,b}',
  '[2:2][3:4]={{a,""}}',
]

const member = fc.string({ unit: fc.constantFrom('a', ' ', ',', '"', '\\', '{', '}', '\n', '\t', '\u0001', 'N', '😀') })
const arrays = [
  [],
  ['NULL', 'null', null, ''],
  ['"'.repeat(500_000), '\\'.repeat(300_000), '\n"'.repeat(1000)],
  ...fc.sample(fc.array(fc.option(member), { maxLength: 6 }), { numRuns: 200, seed: 1 }),
]

async function seed(dataSource: DataSource): Promise<void> {
  for (const array of [...literals, ...arrays]) {
    await dataSource.query('INSERT INTO words (texts, names) VALUES ($1::text[], $1::text[])', [array])
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Words], seed })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

test('records have the same arrays as rows that pg has parsed', async () => {
  const rows = await world.sql('SELECT id, texts, names FROM words ORDER BY id')
  const { objects } = (await get('words/?limit=1000&ordering=id')).json() as { objects: unknown[] }
  expect(objects).toHaveLength(literals.length + arrays.length)
  const different = objects.filter((object, index) => !isDeepStrictEqual(object, rows[index]))
  expect(different).toEqual([])
})
