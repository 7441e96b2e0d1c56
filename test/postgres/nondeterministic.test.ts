import { Column, type DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** PostgreSQL before version 18 does not support LIKE with a nondeterministic collation, and no version supports ILIKE. */

@Entity()
@Resource({ auth: permitAll, bulk: true, formats: true, search: ['name'] })
class Loose {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

async function seed(dataSource: DataSource): Promise<void> {
  const options = "provider = icu, locale = 'und-u-ks-level1', deterministic = false"
  await dataSource.query(`CREATE COLLATION loose_letters (${options})`)
  await dataSource.query('ALTER TABLE loose ALTER name TYPE varchar COLLATE loose_letters')
  await dataSource.query("INSERT INTO loose (name) VALUES ('a'), ('A'), ('b')")
}

let world: World
let supportsLike: boolean
beforeAll(async () => {
  world = await openWorld({ entities: [Loose], seed })
  const [row] = await world.dataSource.query<{ version: string }[]>(
    "SELECT current_setting('server_version_num') AS version",
  )
  supportsLike = Number(row?.version) >= 180_000
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

test.each([
  'GET /api/loose/?name__like=a',
  'GET /api/loose/?name__ilike=a',
  'GET /api/loose/?or=(name__like:a,id:3)',
  'GET /api/loose/?search=a',
  'GET /api/loose/?name__like=a&limit=0&count=exact',
  'GET /api/loose/?name__like=a&format=csv',
  'DELETE /api/loose/?name__like=a',
])('an operator that the column does not support is 400: %s', async (line) => {
  const { status, text } = await send(world.url, line)
  if (supportsLike && !/ilike|search/.test(line)) expect(status).toBe(200)
  else expect([status, text]).toEqual([400, expect.stringContaining('the database cannot read the value of a filter')])
})

test('equality is that of the collation', async () => {
  expect(await apiOf(() => world.url).ids('loose/?name=a&ordering=id')).toEqual([1, 2])
})
