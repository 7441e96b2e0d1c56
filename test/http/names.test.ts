import { Column, Entity, JoinTable, ManyToMany, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

const open = { auth: permitAll }

/** Has column names that must be quoted. */
@Entity('Full names')
@Resource({ ...open, name: 'person' })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ name: 'first, last', unique: true }) name!: string
  @Column({ name: 'last', unique: true }) nick!: string
}

@Entity()
@Resource(open)
class Label {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

@Entity()
@Resource(open)
class Place {
  @PrimaryColumn({ length: 10 }) street!: string
  @PrimaryColumn() house!: number
  @ManyToMany(() => Label) @JoinTable() labels!: Relation<Label>[]
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Person, Label, Place],
    seed: async (source) => {
      await source.getRepository(Person).insert({ name: 'Ann Ash', nick: 'ann' })
      await source.getRepository(Label).insert([{ text: 'old' }, { text: 'new' }])
      await source.getRepository(Place).insert([1, 2].map((house) => ({ street: 'Elm', house })))
      const junction = source.getMetadata(Place).findRelationWithPropertyPath('labels')?.junctionEntityMetadata
      const row = { placeStreet: 'Elm', placeHouse: 2, labelId: 1 }
      await source
        .createQueryBuilder()
        .insert()
        .into(junction?.tableName ?? '')
        .values(row)
        .execute()
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { post, ids } = apiOf(() => world.url)

test.each([
  ['name', { name: 'Ann Ash', nick: 'other' }],
  ['nick', { name: 'Other', nick: 'ann' }],
])('a conflict names the field, whatever the name of its column is: %s', async (field, person) => {
  const reply = await post('person', person)
  expect([reply.status, reply.json()]).toMatchObject([409, { errors: [{ field }] }])
})

test.each(["x' for key 'last", '(last)=(x)', 'UNIQUE constraint failed: Full names.last', "for key 'PRIMARY'"])(
  'a conflict names the field, whatever its value contains: %s',
  async (name) => {
    expect((await post('person', { name, nick: `first ${name}` })).status).toBe(201)
    const reply = await post('person', { name, nick: `second ${name}` })
    expect([reply.status, reply.json()]).toMatchObject([409, { errors: [{ field: 'name' }] }])
  },
)

test('a to-many relation can begin at a key of several columns, from the side of its junction table', async () => {
  expect(await ids('place?labels__text=old')).toEqual(['Elm,2'])
  expect(await ids('place?labels__text=new')).toEqual([])
})
