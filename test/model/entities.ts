import {
  Column,
  type ColumnOptions,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { permitAll } from '../support/access'
import { isMariadb, types } from '../world/leg'
import { VariedIndex } from '../world/vary'

const open = { auth: permitAll, aggregate: true, formats: true } as const

/** On MariaDB a column of time has no fraction by default, and a time zone other than UTC would change it. */
const optional = (options: ColumnOptions): ColumnOptions => ({ ...options, nullable: true })

/** Has a column for each type of value. */
export abstract class Valued {
  /** Lowercase ASCII letters, which all collations order in the same way. */
  @Column(optional({ type: 'varchar', length: 20 })) name!: string | null
  /** Any characters, which are compared but not used for ordering. */
  @Column(optional({ type: 'varchar', length: 20 })) label!: string | null
  @Column(optional({ type: 'int' })) score!: number | null
  @Column({ type: 'smallint', default: 0 }) order!: number
  @Column({ type: 'int', default: 0 }) limit!: number
  @Column(optional({ type: 'decimal', precision: 8, scale: 2 })) price!: string | null
  @Column(optional({ type: 'bigint' })) big!: string | null
  @Column(optional({ type: isMariadb ? 'double' : 'double precision' })) ratio!: number | null
  @Column(optional({ type: 'boolean' })) flag!: boolean | null
  @Column(optional({ type: 'date' })) day!: string | null
  @Column(optional({ type: 'time' })) at!: string | null
  @Column(optional(types.instant)) seen!: Date | null
  @Column(optional({ type: 'simple-enum', enum: ['high', 'low', 'middle'] })) status!: string | null
  @Column(optional({ type: 'uuid' })) code!: string | null
}

@Entity()
@Resource({ ...open, search: ['name', 'label', 'lead.label'] })
export class Team extends Valued {
  @PrimaryGeneratedColumn('uuid') id!: string
  @ManyToOne(() => Person) lead!: Relation<Person> | null
  @OneToMany(
    () => Person,
    (person) => person.team,
  )
  members!: Relation<Person>[]
  @OneToMany(
    () => Task,
    (task) => task.team,
  )
  tasks!: Relation<Task>[]
}

@Entity()
@Resource({ ...open, search: ['label', 'boss.name', 'team.label'] })
export class Person extends Valued {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Person) boss!: Relation<Person> | null
  @VariedIndex()
  @ManyToOne(
    () => Team,
    (team) => team.members,
  )
  team!: Relation<Team> | null
  @OneToMany(
    () => Task,
    (task) => task.assignee,
  )
  tasks!: Relation<Task>[]
  @ManyToMany(() => Person) @JoinTable() friends!: Relation<Person>[]
}

@Entity()
@Resource({ ...open, search: ['board', 'label', 'assignee.team.name'] })
export class Task extends Valued {
  @PrimaryColumn({ length: 10 }) board!: string
  @PrimaryColumn({ type: 'int' }) number!: number
  @VariedIndex()
  @ManyToOne(
    () => Person,
    (person) => person.tasks,
  )
  assignee!: Relation<Person> | null
  @VariedIndex()
  @ManyToOne(
    () => Team,
    (team) => team.tasks,
  )
  team!: Relation<Team> | null
  @ManyToOne(() => Task) parent!: Relation<Task> | null
  @ManyToMany(
    () => Tag,
    (tag) => tag.tasks,
  )
  @JoinTable()
  tags!: Relation<Tag>[]
  @OneToMany(
    () => Entry,
    (entry) => entry.task,
  )
  entries!: Relation<Entry>[]
}

@Entity()
@Resource({ ...open, search: ['word', 'broader.label'] })
export class Tag extends Valued {
  @PrimaryColumn({ length: 10 }) word!: string
  @ManyToOne(() => Tag) broader!: Relation<Tag> | null
  @ManyToMany(
    () => Task,
    (task) => task.tags,
  )
  tasks!: Relation<Task>[]
}

/** Has a key with more digits than a double. */
@Entity()
@Resource({ ...open, search: ['name', 'task.label', 'tag.word'] })
export class Entry extends Valued {
  @PrimaryColumn({ type: 'bigint' }) id!: string
  @ManyToOne(
    () => Task,
    (task) => task.entries,
  )
  task!: Relation<Task> | null
  @ManyToOne(() => Person) person!: Relation<Person> | null
  @ManyToOne(() => Tag) tag!: Relation<Tag> | null
}

/** The entities by the names of their resources. */
export const entities = { team: Team, person: Person, task: Task, tag: Tag, entry: Entry } as const
