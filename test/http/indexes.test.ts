import Koa from 'koa'
import {
  ChildEntity,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
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

const nowhere: readonly string[] = []
/** MariaDB makes an index for each foreign key constraint. */
const noted = (path: string): readonly string[] => (isMariadb ? [] : [path])

type Registration = NonNullable<MountOptions['resources']>[number] & { readonly entity: { readonly name: string } }

/** What is mounted, and the foreign keys that must be noted. */
const cases: readonly (readonly [what: string, resource: Registration, missing: readonly string[]])[] = [
  ['a foreign key', { entity: Plain }, noted('Plain.author')],
  ['one with an index', { entity: Indexed }, nowhere],
  ['one whose column has an index', { entity: Declared }, nowhere],
  ['one that an index of several columns begins with', { entity: Leading }, nowhere],
  ['one that an index ends with', { entity: Following }, noted('Following.author')],
  ['one that a unique constraint begins with', { entity: Sole }, nowhere],
  ['a one-to-one', { entity: Single }, nowhere],
  ['one that the key begins with', { entity: Key }, nowhere],
  ['one that the key ends with', { entity: KeyEnd }, noted('KeyEnd.author')],
  ['one without a constraint', { entity: Loose }, ['Loose.author']],
  ['a one-to-one without a constraint', { entity: LooseSingle }, ['LooseSingle.author']],
  ['one of two columns with an index', { entity: Visit }, nowhere],
  ['one of two columns that an index begins with', { entity: Booking }, nowhere],
  ['one of two columns that an index ends with', { entity: Ticket }, noted('Ticket.seat')],
  ['one whose index migrations make', { entity: Migrated }, nowhere],
  ['an index that nobody knows the columns of', { entity: Unknown }, noted('Unknown.author')],
  ['one that a class inherits with its table', { entity: Child }, nowhere],
  ['a hidden one', { entity: Hidden, exclude: ['author'] }, nowhere],
  ['a hidden owner', { entity: Owned, exclude: ['author'], ownerField: 'author' }, noted('Owned.author')],
  ['one of a view', { entity: View }, nowhere],
]

let notes: readonly string[]
beforeAll(async () => {
  const lines: string[] = []
  const resources = cases.map(([, resource]) => resource)
  const entities = [Author, Place, Parent, ...resources.map(({ entity }) => entity)]
  const dataSource = await openDataSource(entities as never, undefined, {}, (line) => lines.push(line))
  mountResources(new Koa(), dataSource, { users: { entity: Author }, resources })
  // It looks at its settings in its own time.
  await new Promise((resolve) => setTimeout(resolve, 100))
  await dataSource.destroy()
  notes = lines.filter((line) => line.startsWith('info typeorm-resources: '))
})

test.each(cases)('a mount notes the foreign keys without an index, once: %s', (_, { entity }, missing) => {
  const found = notes.filter((note) => note.includes(` ${entity.name}.`))
  expect(found).toEqual(missing.map((path) => expect.stringContaining(`no index begins with ${path},`)))
})

test('the note says what it costs and what to write', () => {
  expect(notes).toContain(
    'info typeorm-resources: no index begins with Loose.author, so the database reads every Loose to find those of one Author: ' +
      'write @Index() on Loose.author',
  )
})
