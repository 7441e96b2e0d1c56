import {
  Column,
  type DataSource,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Entities with a default order (`orderBy` of `@Entity`). */

@Entity({ orderBy: { rank: 'DESC' } })
@Resource({ auth: permitAll })
class Team {
  @PrimaryColumn() id!: number
  @Column('int') rank!: number
  @OneToMany(() => Player, 'team') players!: Relation<Player>[]
}

@Entity({ orderBy: { rank: 'DESC' } })
@Resource({ auth: permitAll })
class Player {
  @PrimaryColumn() id!: number
  @Column('int') rank!: number
  @ManyToOne(() => Team, 'players') team!: Relation<Team>
  @ManyToMany(() => Skill)
  @JoinTable()
  skills!: Relation<Skill>[]
}

@Entity({ orderBy: { title: 'DESC' } })
@Resource({ auth: permitAll })
class Skill {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) title!: string
}

async function seed(dataSource: DataSource): Promise<void> {
  const repository = dataSource.getRepository.bind(dataSource)
  await repository(Team).insert([1, 2, 3].map((id) => ({ id, rank: id })))
  await repository(Skill).insert([1, 2].map((id) => ({ id, title: `skill ${id}` })))
  await repository(Player).insert([1, 2, 3, 4].map((id) => ({ id, rank: id, team: { id: 1 + (id % 2) } })))
  await repository(Player).save([
    { id: 1, skills: [{ id: 1 }] },
    { id: 2, skills: [{ id: 1 }, { id: 2 }] },
  ])
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Team, Player, Skill], seed })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { ids, get } = apiOf(() => world.url)

test.each([
  ['team/?', [1, 2, 3]],
  ['team/?ordering=-rank', [3, 2, 1]],
  ['team/?players__skills__title=skill%202', [1]],
  ['team/?not=(players__skills__title:skill%202)', [2, 3]],
  ['team/?or=(players__id:1,players__skills__id__is:null)', [1, 2, 3]],
  ['team/?after=&limit=2', [1, 2]],
  ['player/?team__players__rank__gte=4', [2, 4]],
  ['player/?team__rank=1&ordering=team__rank,-id', [4, 2]],
] as const)('an entity with a default order: %s', async (query, expected) => {
  expect(await ids(query)).toEqual(expected)
})

test.each(['exact', 'capped'])('count=%s counts the records of an entity with a default order', async (count) => {
  world.statements()
  const counted = await get(`player/?team__rank__lte=1&limit=1&count=${count}`)
  expect(counted.json()).toMatchObject({ meta: { total: 2 } })
  expect(world.statements().filter((sql) => /COUNT/.test(sql) && /ORDER BY/.test(sql))).toEqual([])
})

test('an entity with a default order can be written and referred to', async () => {
  const created = await send(world.url, 'POST /api/player/', { body: { id: 9, rank: 9, team_id: 2 } })
  expect([created.status, created.json()]).toMatchObject([201, { id: 9, team_id: 2 }])
  const missing = await send(world.url, 'PUT /api/player/9/', { body: { rank: 8, team_id: 77 } })
  expect([missing.status, missing.json()]).toMatchObject([400, { errors: [{ field: 'team_id' }] }])
  expect((await send(world.url, 'PUT /api/player/9/', { body: { rank: 7 } })).json()).toMatchObject({ rank: 7 })
  expect((await send(world.url, 'DELETE /api/player/9/')).status).toBe(204)
})
