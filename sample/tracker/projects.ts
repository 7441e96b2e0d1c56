import {
  Column,
  DeleteDateColumn,
  Entity,
  Index,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  Unique,
} from 'typeorm'
import { Resource, userRule } from 'typeorm-resources'
import { Entry, Invoice } from './billing'
import { Company, Person } from './people'
import { inManagedCompany, inManagedProject, inOwnCompany, inProjectOfOwnCompany, managesAll, writes } from './roles'

/** Members and guests see a project, managers write it. Only persons with the permission `managesAll` see budgets. */
@Entity()
@Resource({
  auth: userRule(),
  scope: (me) => [inOwnCompany(me), { guests__person: me.id }],
  may: writes(inManagedCompany),
  fields: { budget: { read: managesAll } },
})
export class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) name!: string
  @Column({ type: 'int', default: 0 }) budget!: number
  @Index()
  @ManyToOne(
    () => Company,
    ({ projects }) => projects,
    { nullable: false },
  )
  company!: Relation<Company>
  @OneToMany(
    () => Guest,
    ({ project }) => project,
  )
  guests!: Relation<Guest>[]
  @OneToMany(
    () => Task,
    ({ project }) => project,
  )
  tasks!: Relation<Task>[]
  @OneToMany(
    () => Invoice,
    ({ project }) => project,
  )
  invoices!: Relation<Invoice>[]
}

/** A person of another company who is invited to one project. */
@Entity()
@Unique(['project', 'person'])
@Resource({ auth: userRule(), scope: { through: 'project' }, may: writes(inManagedProject) })
export class Guest {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Project,
    ({ guests }) => guests,
    { nullable: false, onDelete: 'CASCADE' },
  )
  @JoinColumn({ name: 'project_id' })
  project!: Relation<Project>
  @Index()
  @ManyToOne(
    () => Person,
    ({ invitations }) => invitations,
    { nullable: false },
  )
  @JoinColumn({ name: 'person_id' })
  person!: Relation<Person>
}

/**
 * Guests see the tasks of their project, members write them, also several with one request. A deleted task stays in the table.
 */
@Entity()
@Resource({
  auth: userRule(),
  bulk: true,
  exclude: ['deleted'],
  scope: { through: 'project' },
  may: writes(inProjectOfOwnCompany),
  search: ['title', 'project.name'],
})
export class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) title!: string
  @Column({ type: 'simple-enum', enum: ['open', 'doing', 'done'], default: 'open' })
  state!: 'open' | 'doing' | 'done'
  @Index()
  @ManyToOne(
    () => Project,
    ({ tasks }) => tasks,
    { nullable: false },
  )
  project!: Relation<Project>
  @ManyToOne(() => Person, { nullable: true }) assignee!: Relation<Person> | null
  @DeleteDateColumn() deleted!: Date | null
  @ManyToMany(
    () => Tag,
    ({ tasks }) => tasks,
  )
  @JoinTable()
  tags!: Relation<Tag>[]
  @OneToMany(
    () => Comment,
    ({ task }) => task,
  )
  comments!: Relation<Comment>[]
  @OneToMany(
    () => Entry,
    ({ task }) => task,
  )
  entries!: Relation<Entry>[]
}

/** A tag without a company is shared: all persons see it, and none can change it. */
@Entity()
@Unique(['company', 'label'])
@Resource({
  auth: userRule(),
  scope: (me) => [{ company__is: 'null' }, inOwnCompany(me)],
  may: { create: inOwnCompany, update: inOwnCompany, delete: inManagedCompany },
})
export class Tag {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) label!: string
  @ManyToOne(() => Company, { nullable: true }) company!: Relation<Company> | null
  @ManyToMany(
    () => Task,
    ({ tags }) => tags,
  )
  tasks!: Relation<Task>[]
}

/** All who see a task may comment on it. Authors change and delete their comments, managers delete those of others. */
@Entity()
@Resource({
  auth: userRule(),
  readOnly: ['author'],
  preset: (me) => ({ author: me.id }),
  scope: { through: 'task' },
  may: {
    update: (me) => ({ author: me.id }),
    delete: (me) => [
      { author: me.id },
      { task__project__company__memberships__person: me.id, task__project__company__memberships__role: 'manager' },
    ],
  },
})
export class Comment {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 200 }) text!: string
  @Index()
  @ManyToOne(
    () => Task,
    ({ comments }) => comments,
    { nullable: false },
  )
  task!: Relation<Task>
  @ManyToOne(() => Person, { nullable: false }) author!: Relation<Person>
}
