import { Column, Entity, JoinTable, ManyToMany, ManyToOne, OneToMany, PrimaryColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Relations that an embedded entity declares. */

@Entity()
@Resource({ auth: permitAll })
class Tag {
  @PrimaryColumn() id!: number
  @ManyToMany(
    () => Person,
    ({ place }) => place.tags,
  )
  people!: Relation<Person>[]
}

class Place {
  @Column({ type: 'varchar', length: 20, default: '' }) city!: string
  @ManyToOne(() => Tag, { nullable: true }) main!: Relation<Tag> | null
  @ManyToMany(
    () => Tag,
    ({ people }) => people,
  )
  @JoinTable()
  tags!: Relation<Tag>[]
  @OneToMany(
    () => Pet,
    ({ person }) => person,
  )
  pets!: Relation<Pet>[]
}

/** Has relations only: records show nothing of it. */
class Links {
  @ManyToMany(() => Tag)
  @JoinTable()
  topics!: Relation<Tag>[]
}

@Entity()
@Resource({ auth: permitAll, exclude: ['sealed'] })
class Person {
  @PrimaryColumn() id!: number
  @Column(() => Place) place!: Place
  @Column(() => Links) links!: Links
  @Column(() => Links) sealed!: Links
}

@Entity()
@Resource({ auth: permitAll })
class Pet {
  @PrimaryColumn() id!: number
  @ManyToOne(
    () => Person,
    ({ place }) => place.pets,
    { nullable: false },
  )
  person!: Relation<Person>
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Tag, Person, Pet] })
  const [tags, people, pets] = [Tag, Person, Pet].map((entity) => world.dataSource.getRepository<object>(entity))
  await tags?.save([{ id: 1 }, { id: 2 }])
  await people?.save([
    { id: 1, place: { main: { id: 2 }, tags: [{ id: 1 }] }, links: { topics: [{ id: 2 }] }, sealed: { topics: [] } },
    { id: 2, place: { tags: [] }, links: { topics: [] }, sealed: { topics: [{ id: 1 }] } },
  ])
  await pets?.save([{ id: 1, person: { id: 2 } }])
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

test.each([
  ['person/?place__main__id=2', [1]],
  ['person/?place__tags__id=1', [1]],
  ['person/?place__tags__id__is=null', [2]],
  ['person/?place__pets__id=1', [2]],
  ['person/?links__topics__id=2', [1]],
  ['tag/?people__id=1', [1]],
  ['tag/?people__place__main__id=2', [1]],
  ['pet/?person__place__pets__id=1', [1]],
])('Filters through relations: a relation in an embedded entity can be followed: %s', async (path, ids) => {
  const { objects } = (await get(path)).json() as { objects: { id: number }[] }
  expect(objects.map(({ id }) => id)).toEqual(ids)
})

test('Hidden fields: a relation in a hidden embedded entity cannot be followed', async () => {
  const reply = await get('person/?sealed__topics__id=1')
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('is not a field of person')])
})
