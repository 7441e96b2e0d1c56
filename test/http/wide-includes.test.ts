import { Column, Entity, JoinColumn, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Included records whose columns are more than the database can read with one statement. */

@Entity()
@Resource({ auth: permitAll })
class Wide {
  @PrimaryGeneratedColumn() id!: number
}
const relations = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
for (const name of relations) {
  JoinColumn({ name })(Wide.prototype, name)
  ManyToOne(() => Wide, { nullable: true })(Wide.prototype, name)
}
for (let index = 0; index < 230; index++) Column({ type: 'int', nullable: true })(Wide.prototype, `c${index}`)

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Wide] })
  const first = await world.dataSource.getRepository(Wide).save({})
  const related = Object.fromEntries(relations.map((name) => [name, first])) as Record<string, Relation<Wide>>
  await world.dataSource.getRepository(Wide).insert(related as object)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

test('too many columns are 400 with the advice to select fields', async () => {
  const refused = await get(`wide/2/?include=${relations.join()}`)
  if (isMariadb) expect([refused.status, refused.json()]).toMatchObject([200, { h: { id: 1 } }])
  else {
    expect([refused.status, refused.json()]).toMatchObject([
      400,
      { detail: expect.stringMatching(/^include needs \d+ columns, .* select their fields with fields:\(…\)$/) },
    ])
  }
  const selected = await get(`wide/?id=2&include=${relations.map((name) => `${name}(fields:c1)`).join()}`)
  expect([selected.status, selected.json()]).toMatchObject([200, { objects: [{ id: 2, h: { id: 1, c1: null } }] }])
})
