import Koa from 'koa'
import {
  ChildEntity,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
  Unique,
  ViewColumn,
  ViewEntity,
} from 'typeorm'
import { type MountOptions, mountResources } from 'typeorm-resources'
import { isMariadb, sqlOf } from '../world/leg'
import { openDataSource } from '../world/world'

@Entity()
class Author {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
}

@Entity()
class Place {
  @PrimaryColumn() row!: number
  @PrimaryColumn() seat!: number
}

abstract class Base {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
}

@Entity()
class Plain extends Base {
  @ManyToOne(() => Author) author!: Author
}

@Entity()
class Indexed extends Base {
  @Index() @ManyToOne(() => Author) author!: Author
}

@Entity()
class Declared extends Base {
  @Index() @Column() authorId!: number
  @ManyToOne(() => Author) author!: Author
}

@Entity()
@Index(['author', 'title'])
class Leading extends Base {
  @ManyToOne(() => Author) author!: Author
}

@Entity()
@Index(['title', 'author'])
class Following extends Base {
  @ManyToOne(() => Author) author!: Author
}

@Entity()
@Unique(['author', 'title'])
class Sole extends Base {
  @ManyToOne(() => Author) author!: Author
}

@Entity()
class Single extends Base {
  @OneToOne(() => Author) @JoinColumn() author!: Author
}

@Entity()
class Key {
  @PrimaryColumn() authorId!: number
  @PrimaryColumn() number!: number
  @ManyToOne(() => Author) author!: Author
}

@Entity()
class KeyEnd {
  @PrimaryColumn() number!: number
  @PrimaryColumn() authorId!: number
  @ManyToOne(() => Author) author!: Author
}

@Entity()
class Loose extends Base {
  @ManyToOne(() => Author, { createForeignKeyConstraints: false }) author!: Author
}

@Entity()
class LooseSingle extends Base {
  @OneToOne(() => Author, { createForeignKeyConstraints: false }) @JoinColumn() author!: Author
}

@Entity()
@Index(['seatSeat', 'seatRow', 'title'])
class Booking extends Base {
  @Column() seatRow!: number
  @Column() seatSeat!: number
  @ManyToOne(() => Place)
  @JoinColumn([
    { name: 'seatRow', referencedColumnName: 'row' },
    { name: 'seatSeat', referencedColumnName: 'seat' },
  ])
  seat!: Place
}

@Entity()
class Visit extends Base {
  @Index() @ManyToOne(() => Place) seat!: Place
}

@Entity()
@Index(['title', 'seatRow', 'seatSeat'])
class Ticket extends Base {
  @Column() seatRow!: number
  @Column() seatSeat!: number
  @ManyToOne(() => Place)
  @JoinColumn([
    { name: 'seatRow', referencedColumnName: 'row' },
    { name: 'seatSeat', referencedColumnName: 'seat' },
  ])
  seat!: Place
}

@Entity()
class Migrated extends Base {
  @Index('by_hand', { synchronize: false }) @ManyToOne(() => Author) author!: Author
}

@Entity()
@Index('by_expression', { synchronize: false })
class Unknown extends Base {
  @ManyToOne(() => Author) author!: Author
}

@Entity()
@TableInheritance({ column: 'kind' })
class Parent extends Base {
  @Column() kind!: string
  @Index() @ManyToOne(() => Author) author!: Author
}

@ChildEntity()
class Child extends Parent {
  @Column({ nullable: true, type: 'varchar' }) extra!: string | null
}

class Contract {
  @ManyToOne(() => Author, { createForeignKeyConstraints: false }) author!: Author
}

@ChildEntity()
class Leased extends Parent {
  @Column(() => Contract) contract!: Contract
}

@Entity()
class Hidden extends Base {
  @ManyToOne(() => Author) author!: Author
}

@Entity()
class Owned extends Base {
  @ManyToOne(() => Author) author!: Author
}

@ViewEntity({ expression: sqlOf('SELECT "id", "title", "authorId" FROM "plain"') })
class View {
  @ViewColumn() @PrimaryColumn() id!: number
  @ViewColumn() @Column() authorId!: number
  @ManyToOne(() => Author, { createForeignKeyConstraints: false }) author!: Author
}

/** Relations lead to an entity that is not a resource, and whose foreign keys have no indexes. */
@Entity()
class Club extends Base {
  @OneToMany(
    () => Member,
    ({ club }) => club,
  )
  members!: Relation<Member>[]
}

@Entity()
class Member extends Base {
  @ManyToOne(
    () => Club,
    ({ members }) => members,
  )
  club!: Relation<Club>
  @ManyToOne(() => Author) author!: Author
  @Index() @ManyToOne(() => Plain) note!: Plain
}

const nowhere: readonly string[] = []
/** MariaDB creates an index for each foreign key constraint. */
const noted = (path: string): readonly string[] => (isMariadb ? [] : [path])

type Registration = NonNullable<MountOptions['resources']>[number] & { readonly entity: { readonly name: string } }

/** Resources, and their foreign keys without an index. */
const cases: readonly (readonly [what: string, resource: Registration, missing: readonly string[]])[] = [
  ['a foreign key', { entity: Plain }, noted('Plain.author')],
  ['a foreign key with an index', { entity: Indexed }, nowhere],
  ['a foreign key whose column has an index', { entity: Declared }, nowhere],
  ['a foreign key that is the first column of an index', { entity: Leading }, nowhere],
  ['a foreign key that is the last column of an index', { entity: Following }, noted('Following.author')],
  ['a foreign key that is the first column of a unique constraint', { entity: Sole }, nowhere],
  ['a one-to-one relation', { entity: Single }, nowhere],
  ['a foreign key that is the first column of the key', { entity: Key }, nowhere],
  ['a foreign key that is the last column of the key', { entity: KeyEnd }, noted('KeyEnd.author')],
  ['a foreign key without a constraint', { entity: Loose }, ['Loose.author']],
  ['a one-to-one relation without a constraint', { entity: LooseSingle }, ['LooseSingle.author']],
  ['a foreign key of two columns with an index', { entity: Visit }, nowhere],
  ['a foreign key of two columns that are the first of an index', { entity: Booking }, nowhere],
  ['a foreign key of two columns that are the last of an index', { entity: Ticket }, noted('Ticket.seat')],
  ['a foreign key whose index is created by a migration', { entity: Migrated }, nowhere],
  ['a foreign key with an index on an expression', { entity: Unknown }, noted('Unknown.author')],
  ['a foreign key that a child entity inherits with its table', { entity: Child }, nowhere],
  ['a hidden foreign key', { entity: Hidden, exclude: ['author'] }, nowhere],
  ['a hidden owner', { entity: Owned, exclude: ['author'], ownerField: 'author' }, noted('Owned.author')],
  ['a foreign key of a view', { entity: View }, nowhere],
]

let notes: readonly string[]
beforeAll(async () => {
  const resources = cases.map(([, resource]) => resource)
  notes = await notesOf([Author, Place, Parent, ...resources.map(({ entity }) => entity)], resources)
})

/** Mounts resources, and returns what is logged about their indexes. */
async function notesOf(entities: readonly unknown[], resources: readonly Registration[]): Promise<readonly string[]> {
  const lines: string[] = []
  const dataSource = await openDataSource(entities as never, undefined, {}, (line) => lines.push(line))
  mountResources(new Koa(), dataSource, { users: { entity: Author }, resources })
  // The settings of the database are read asynchronously after the mount.
  await new Promise((resolve) => setTimeout(resolve, 100))
  await dataSource.destroy()
  return lines.filter((line) => line.startsWith('info typeorm-resources: '))
}

test.each(cases)('a mount logs the foreign keys without an index, once: %s', (_, { entity }, missing) => {
  const found = notes.filter((note) => note.includes(` ${entity.name}.`))
  expect(found).toEqual(missing.map((path) => expect.stringContaining(`no index begins with ${path},`)))
})

test('the log line says what the missing index costs and how to declare one', () => {
  expect(notes).toContain(
    'info typeorm-resources: no index begins with Loose.author, so the database reads every Loose to find those of one Author: ' +
      'write @Index() on Loose.author',
  )
})

/** Resources with row scopes or permissions, and the foreign keys without an index. */
const scoped: typeof cases = [
  ['foreign keys of an entity that is not a resource', { entity: Club }, nowhere],
  [
    'foreign keys that a row scope may follow',
    { entity: Club, scope: (me) => ({ members__author: me.id }) },
    [...noted('Member.club'), ...noted('Member.author'), ...noted('Plain.author')],
  ],
  [
    'foreign keys that a permission may follow',
    { entity: Club, may: { delete: { members__id__is: 'null' } } },
    [...noted('Member.club'), ...noted('Member.author'), ...noted('Plain.author')],
  ],
  [
    'foreign keys that no function may follow',
    { entity: Member, scope: 'all' },
    [...noted('Member.club'), ...noted('Member.author')],
  ],
  [
    'a hidden foreign key of an embedded entity of a child entity',
    { entity: Leased, exclude: ['contract'], scope: (me) => ({ contract__author: me.id }) },
    ['Leased.contract.author'],
  ],
]
test.each(scoped)('a mount logs the foreign keys without an index, once: %s', async (_, resource, missing) => {
  const found = await notesOf([Author, Plain, Club, Member, Parent, Leased], [resource])
  expect(found).toEqual(missing.map((path) => expect.stringContaining(`no index begins with ${path},`)))
})
