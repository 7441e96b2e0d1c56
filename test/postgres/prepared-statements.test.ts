import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll })
class Sample {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int', nullable: true }) a!: number | null
  @Column({ type: 'int', nullable: true }) b!: number | null
  @Column({ type: 'int', nullable: true }) c!: number | null
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Sample], source: { poolSize: 1 } as object })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get } = apiOf(() => world.url)

/** The prepared statements of the only connection. */
const preparedTexts = async (): Promise<readonly string[]> =>
  (await world.sql('SELECT statement FROM pg_prepared_statements')).map(({ statement }) => String(statement))

/** A query string with other names for each index, and therefore another statement. */
function query(index: number): string {
  const operators = ['', '__ne', '__lt', '__lte', '__gt', '__gte']
  const filter = (field: string, at: number): string => `${field}${operators[at % operators.length]}=1`
  return `sample/?${filter('a', index)}&${filter('b', Math.floor(index / 6))}&${filter('c', Math.floor(index / 36))}`
}

test('the latest statements stay prepared, older ones are deallocated', async () => {
  for (let index = 0; index < 200; index++) expect((await get(query(index))).status).toBe(200)
  const texts = await preparedTexts()
  expect(texts.length).toBeGreaterThan(50)
  expect(texts.length).toBeLessThanOrEqual(100)
  await get('sample/?id__gt=3&b=4')
  expect((await preparedTexts()).filter((text) => text.includes('"id" > '))).toHaveLength(1)
})

test('a statement with hundreds of values is not prepared', async () => {
  const before = (await preparedTexts()).length
  const list = Array.from({ length: 400 }, (_, index) => index).join(',')
  expect((await get(`sample/?a__in=${list}`)).status).toBe(200)
  const texts = await preparedTexts()
  expect(texts.filter((text) => text.includes('$300'))).toEqual([])
  expect(texts.length).toBe(before)
})
