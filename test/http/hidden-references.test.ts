import Koa from 'koa'
import {
  ChildEntity,
  Column,
  type DataSource,
  Entity,
  type EntityTarget,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  type ObjectLiteral,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
  Unique,
} from 'typeorm'
import { ConfigError, type MountOptions, mountResources } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { createDataSource } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Unique(['region', 'number'])
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60, unique: true }) username!: string
  @Column({ length: 60, unique: true }) email!: string
  @Column({ length: 160, unique: true }) password!: string
  @Column({ length: 60, unique: true, select: false }) token!: string
  @Column({ length: 20 }) region!: string
  @Column() number!: number
}

@Entity()
class ByEmail {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Person) @JoinColumn({ referencedColumnName: 'email' }) person!: Relation<Person>
}

/** Has a foreign key that is a property too. */
@Entity()
class ByDeclaredEmail {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60 }) mail!: string
  @ManyToOne(() => Person, { createForeignKeyConstraints: false })
  @JoinColumn({ name: 'mail', referencedColumnName: 'email' })
  person!: Relation<Person>
}

@Entity()
class ByToken {
  @PrimaryGeneratedColumn() id!: number
  @OneToOne(() => Person) @JoinColumn({ referencedColumnName: 'token' }) person!: Relation<Person>
}

@Entity()
class ByPassword {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Person) @JoinColumn({ referencedColumnName: 'password' }) person!: Relation<Person>
}

@Entity()
class ByNumber {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Person)
  @JoinColumn([{ referencedColumnName: 'region' }, { referencedColumnName: 'number' }])
  person!: Relation<Person>
}

/** Has a key that is the foreign key. */
@Entity()
class KeyedByEmail {
  @PrimaryColumn({ length: 60 }) mail!: string
  @OneToOne(() => Person) @JoinColumn({ name: 'mail', referencedColumnName: 'email' }) person!: Relation<Person>
}

/** Refers to a key that is itself a foreign key to the email. */
@Entity()
class Chained {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => KeyedByEmail) keyed!: Relation<KeyedByEmail>
}

/** Has one column that is part of two relations, one of which cannot be a field. */
@Entity()
class SharedColumn {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60 }) name!: string
  @ManyToOne(() => Person, { createForeignKeyConstraints: false })
  @JoinColumn({ name: 'name', referencedColumnName: 'username' })
  person!: Relation<Person>
  @ManyToOne(() => Person, { createForeignKeyConstraints: false })
  @JoinColumn([
    { name: 'name', referencedColumnName: 'email' },
    { name: 'number', referencedColumnName: 'number' },
  ])
  email!: Relation<Person>
}

@Entity()
@TableInheritance({ column: 'kind' })
class Animal {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) kind!: string
  @Column({ length: 20, unique: true }) chip!: string
}

@ChildEntity()
class Dog extends Animal {
  @Column({ length: 20, unique: true, nullable: true }) badge!: string
}

@Entity()
class Walk {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Animal) @JoinColumn({ referencedColumnName: 'chip' }) animal!: Relation<Animal>
}

/** Has a many-to-many relation whose junction table contains emails. */
@Entity()
class Club {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @ManyToMany(() => Person)
  @JoinTable({ inverseJoinColumn: { referencedColumnName: 'email' } })
  members!: Relation<Person>[]
}

const entities = [
  Person,
  ByEmail,
  ByDeclaredEmail,
  ByToken,
  ByPassword,
  ByNumber,
  KeyedByEmail,
  Chained,
  SharedColumn,
  Animal,
  Dog,
  Walk,
  Club,
]

let dataSource: DataSource
beforeAll(async () => {
  dataSource = await createDataSource({ entities })
  await dataSource.initialize()
})
afterAll(() => dataSource.destroy())

/** The errors of a mount with these resources. */
function mistakesOf(options: MountOptions): readonly string[] {
  try {
    mountResources(new Koa(), dataSource, options)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.mistakes
  }
}

const person = (...exclude: string[]) => ({ entity: Person as EntityTarget<ObjectLiteral>, exclude })

test.each([
  ['an excluded column', { resources: [person('email'), { entity: ByEmail }] }, ['ByEmail person Person.email']],
  [
    'an excluded column, by a declared property',
    { resources: [person('email'), { entity: ByDeclaredEmail }] },
    ['ByDeclaredEmail person Person.email'],
  ],
  [
    'select: false, of an entity that is not a resource',
    { resources: [{ entity: ByToken }] },
    ['ByToken person Person.token'],
  ],
  [
    'the password of an entity that is not a resource',
    { users: { entity: Person }, resources: [{ entity: ByPassword }] },
    ['ByPassword person Person.password'],
  ],
  [
    'a foreign key of several columns',
    { resources: [person('number'), { entity: ByNumber }] },
    ['ByNumber person Person.number'],
  ],
  [
    'a key that refers to a hidden column, and a reference to that key',
    { resources: [person('email'), { entity: KeyedByEmail }, { entity: Chained }] },
    ['KeyedByEmail person Person.email', 'Chained keyed Person.email'],
  ],
  [
    'a foreign key to a hidden foreign key of another resource',
    { resources: [{ entity: ByEmail, exclude: ['person'] }, { entity: Chained }, person('email')] },
    ['Chained keyed Person.email'],
  ],
  [
    'a relation that shares its column with another one',
    {
      resources: [
        person('email'),
        { entity: SharedColumn, exclude: ['email'], fields: { name: { read: true } } as object },
      ],
    },
    ['SharedColumn person Person.email'],
  ],
  [
    'a column that a resource of the same table excludes',
    { resources: [{ entity: Dog, exclude: ['chip'] }, { entity: Walk }] },
    ['Walk animal Animal.chip'],
  ],
])('a foreign key that would reveal a hidden column is refused at mount: %s', (_, options, expected) => {
  const mistakes = mistakesOf(options)
  const found = mistakes.map((mistake) =>
    mistake.replace(
      /^(\w+): "(\w+)" would show the values of ([\w.]+), which is hidden, because it refers to it: .*/,
      '$1 $2 $3',
    ),
  )
  expect([...new Set(found)]).toEqual(expected)
})

test('the error says how to fix it', () => {
  const ways =
    'refer to a column that is shown ("referencedColumnName"), or put "person" in "exclude" too, or show Person.email'
  const mistakes = mistakesOf({ resources: [person('email'), { entity: ByEmail }] })
  expect(mistakes).toEqual([
    `ByEmail: "person" would show the values of Person.email, which is hidden, because it refers to it: ${ways}`,
  ])
})

test.each([
  ['the foreign key is excluded too', { resources: [person('email'), { entity: ByEmail, exclude: ['person'] }] }],
  ['nothing is hidden', { resources: [person(), { entity: ByEmail }] }],
  ['the referenced entity is not a resource, and hides nothing', { resources: [{ entity: ByEmail }] }],
  ['another column is hidden', { resources: [person('username'), { entity: ByEmail }] }],
  [
    'the referenced resource shows the column, and another resource of its table hides it',
    { resources: [{ entity: Animal }, { entity: Dog, exclude: ['chip'] }, { entity: Walk }] },
  ],
])('a foreign key is accepted if %s', (_, options) => {
  expect(mistakesOf(options)).toEqual([])
})

describe('a hidden column that foreign keys refer to', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities,
      mount: {
        defaultAuth: permitAllAsUser1,
        resources: [
          person('email', 'password', 'token', 'region', 'number'),
          { entity: ByEmail, exclude: ['person'] },
          { entity: Club },
        ],
      },
      seed: async ({ manager }) => {
        const one = { username: 'ann', email: 'canary@hidden', password: 'p', token: 't', region: 'r', number: 1 }
        const ann = await manager.save(Person, one as Person)
        await manager.save(ByEmail, { person: ann } as ByEmail)
        await manager.save(Club, { title: 'x', members: [ann] } as Club)
      },
    })
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })
  const { get, ids } = apiOf(() => world.url)

  test('is revealed neither by excluded foreign keys nor by a junction table', async () => {
    expect((await get('byemail')).json()).toMatchObject({ objects: [{ id: 1 }] })
    for (const query of ['person=canary@hidden', 'person_id__like=can%25', 'person__username=ann', 'ordering=person']) {
      expect((await get(`byemail?${query}`)).status).toBe(400)
    }
    expect((await get('club')).json()).toMatchObject({ objects: [{ id: 1, title: 'x' }] })
    expect(await ids('club?members__username=ann')).toEqual([1])
    expect((await get('club?members__email=canary@hidden')).status).toBe(400)
  })
})
