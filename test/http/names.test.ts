import Koa from 'koa'
import {
  ChildEntity,
  Column,
  DeleteDateColumn,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
  VersionColumn,
} from 'typeorm'
import { type ConfigError, mountResources, Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { dropDatabase } from '../world/leg'
import { openDataSource, openWorld, type World } from '../world/world'

const open = { auth: permitAll }

/** Has column names that must be quoted. */
@Entity('Full names')
@Resource({ ...open, name: 'person' })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ name: 'first, last', unique: true }) name!: string
  @Column({ name: 'last', unique: true }) nick!: string
  @Column({ name: 'on two\nlines', unique: true, nullable: true }) motto!: string
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

/** Has columns and properties whose names are words of SQL statements. */
class Words {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column({ nullable: true }) ORDER!: number
  @Column({ nullable: true }) FROM!: number
  @Column({ nullable: true }) SET!: number
  @Column({ nullable: true }) WHERE!: number
  @Column({ nullable: true }) IN!: number
  @Column({ nullable: true }) SELECT!: number
  @Column({ nullable: true }) LIMIT!: number
  @Column({ nullable: true }) VALUES!: number
  @Column({ nullable: true }) DEFAULT!: number
  @Column({ nullable: true }) NULL!: number
  @Column({ nullable: true }) TRUE!: number
  @Column({ nullable: true }) False!: number
  @Column({ nullable: true }) rowid!: number
  @Column({ nullable: true, name: '_rowid_' }) row!: number
  @Column({ nullable: true }) CURRENT_TIMESTAMP!: number
  @Column({ nullable: true }) excluded!: number
  @Column({ nullable: true, name: 'AND' }) OR!: number
}

@Entity()
@Resource({ ...open, bulk: true })
class Worded extends Words {}

@Entity()
@Resource({ ...open, bulk: true, may: { restore: true } })
class Kept extends Words {
  @VersionColumn() version!: number
  @DeleteDateColumn() IS!: Date | null
}

@Entity()
@TableInheritance({ column: { name: 'Kind$$', type: 'varchar', length: 10 } })
class Parent extends Words {}

@ChildEntity()
@Resource({ ...open, bulk: true })
class Child extends Parent {
  @Column({ nullable: true, name: 'UPDATE' }) age!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Person, Label, Place, Worded, Kept, Parent, Child],
    seed: async (source) => {
      await source.getRepository(Person).insert({ name: 'Ann Ash', nick: 'ann', motto: 'no' })
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
  ['motto', { name: 'Other', nick: 'other', motto: 'no' }],
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

describe.each(['worded', 'kept', 'child'])('columns with names of SQL: %s', (name) => {
  const request = async (line: string, body?: unknown): Promise<unknown> => {
    const [method, path = ''] = line.split(' ')
    const { status, text } = await send(world.url, `${method} /api/${name}/${path}`, { body })
    if (status >= 300) throw new Error(`${line}: ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  test('a record is written', async () => {
    const { id } = (await request('POST', { title: 'one', ORDER: 1 })) as { id: number }
    expect(await request(`PUT ${id}/`, { FROM: 2, OR: 3 })).toMatchObject({ title: 'one', ORDER: 1, FROM: 2, OR: 3 })
    await request(`DELETE ${id}/`)
    expect(await ids(`${name}?title=one`)).toEqual([])
  })

  test('filters are negated', async () => {
    const values = [null, 0, 1, 2]
    for (const value of values) {
      const title = `negated-${value}`
      await request('POST', { title, TRUE: value, False: value, rowid: value, row: value, excluded: value })
    }
    for (const field of ['TRUE', 'False', 'rowid', 'row', 'excluded']) {
      expect(await request(`GET ?title__like=negated-%25&ordering=id&not=(${field}:1)`)).toMatchObject({
        objects: [{ [field]: null }, { [field]: 0 }, { [field]: 2 }],
      })
    }
    await request('DELETE ?title__like=negated-%25')
  })

  test('several records are written', async () => {
    await request('POST', [{ title: 'two', ORDER: 2 }, { title: 'two' }, { title: 'three', ORDER: 2 }])
    expect(await request('PATCH ?title=two&ORDER__is=null', { SET: 5 })).toMatchObject({ meta: { updated: 1 } })
    expect(await request('PATCH ?ORDER__in=2,3&title=two', { IN: 6 })).toMatchObject({ meta: { updated: 1 } })
    expect(await request('GET ?title=two&ordering=ORDER')).toMatchObject({
      objects: [
        { ORDER: null, SET: 5, IN: null },
        { ORDER: 2, SET: null, IN: 6 },
      ],
    })
    expect(await request('DELETE ?title=two')).toMatchObject({ meta: { deleted: 2 } })
    expect(await ids(`${name}?ordering=id`)).toHaveLength(1)
  })
})

test('a record with names of SQL is restored', async () => {
  const { id } = (await post('kept', { title: 'four', WHERE: 1 })).json() as { id: number }
  await send(world.url, `DELETE /api/kept/${id}/`)
  const restored = await send(world.url, `POST /api/kept/${id}/restore/`)
  expect([restored.status, restored.json()]).toMatchObject([200, { title: 'four', WHERE: 1 }])
})

@Entity()
class Keyed {
  @PrimaryColumn() 'a b'!: number
}

/** Has relations with names that TypeORM does not escape in joins. */
@Entity()
class Unjoined {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Label) 'first (label)'!: Relation<Label>
  @ManyToOne(() => Label) '1, 2'!: Relation<Label>
  @ManyToOne(() => Keyed) keyed!: Relation<Keyed>
  @ManyToMany(() => Label) @JoinTable({ joinColumn: { name: 'a=b' } }) owned!: Relation<Label>[]
  @ManyToMany(() => Label) @JoinTable({ inverseJoinColumn: { name: '__proto__' } }) others!: Relation<Label>[]
  @ManyToMany(() => Label) @JoinTable({ joinColumn: { name: 'a-b' } }) usable!: Relation<Label>[]
}

test('the mount reports relations with names that TypeORM cannot use in joins', async () => {
  const dataSource = await openDataSource([Label, Keyed, Unjoined])
  const mount = () => mountResources(new Koa(), dataSource, { resources: [{ entity: Unjoined, exclude: ['1, 2'] }] })
  let mistakes: readonly string[] = []
  try {
    mount()
  } catch (error) {
    mistakes = (error as ConfigError).mistakes
  } finally {
    await dataSource.destroy()
    await dropDatabase(dataSource)
  }
  expect(mistakes.map((mistake) => /"[^"]+" needs the name "[^"]+"/.exec(mistake)?.[0])).toEqual([
    '"first (label)" needs the name "first (label)"',
    '"keyed" needs the name "a b"',
    '"owned" needs the name "a=b"',
    '"others" needs the name "__proto__"',
  ])
})
