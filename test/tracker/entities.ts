import { Column, Entity, JoinTable, ManyToMany, ManyToOne, OneToMany, PrimaryColumn, type Relation } from 'typeorm'
import { Resource, type Rule } from 'typeorm-resources'

/** A project tracker for several companies: each person sees the records of the companies of which they are a member. */

/** The header `x-person` names the person who sends a request. Without it the request is anonymous. */
export const byHeader: Rule = ({ context }) => ({
  id: context.get('x-person') === '' ? null : Number(context.get('x-person')),
})
/** Permits one person only. */
const personTwo: Rule = (request) => (request.context.get('x-person') === '2' ? { id: 2 } : null)

/** Options of every resource. */
const lists = { aggregate: true, formats: true } as const

@Entity()
@Resource({ ...lists, auth: byHeader, scope: (me) => ({ memberships__person: me.id }) })
export class Company {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) name!: string
  @OneToMany(
    () => Membership,
    ({ company }) => company,
  )
  memberships!: Relation<Membership>[]
  @OneToMany(
    () => Project,
    ({ company }) => company,
  )
  projects!: Relation<Project>[]
}

@Entity()
@Resource({ ...lists, auth: byHeader })
export class Person {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) name!: string
  @OneToMany(
    () => Task,
    ({ assignee }) => assignee,
  )
  tasks!: Relation<Task>[]
  @OneToMany(
    () => Rate,
    ({ person }) => person,
  )
  rates!: Relation<Rate>[]
}

/** Not a resource: only scopes use it. */
@Entity()
export class Membership {
  @PrimaryColumn() id!: number
  @ManyToOne(() => Person, { nullable: false }) person!: Relation<Person>
  @ManyToOne(
    () => Company,
    ({ memberships }) => memberships,
    { nullable: false },
  )
  company!: Relation<Company>
}

@Entity()
@Resource({
  ...lists,
  auth: byHeader,
  scope: (me) => ({ company__memberships__person: me.id }),
  search: ['name', 'company.name'],
})
export class Project {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) name!: string
  @ManyToOne(
    () => Company,
    ({ projects }) => projects,
    { nullable: false },
  )
  company!: Relation<Company>
  @OneToMany(
    () => Task,
    ({ project }) => project,
  )
  tasks!: Relation<Task>[]
  @ManyToMany(
    () => Tag,
    ({ projects }) => projects,
  )
  @JoinTable()
  tags!: Relation<Tag>[]
}

@Entity()
@Resource({
  ...lists,
  auth: byHeader,
  scope: { through: 'project' },
  search: ['title', 'project.name', 'project.company.name', 'assignee.name'],
})
export class Task {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) title!: string
  @ManyToOne(
    () => Project,
    ({ tasks }) => tasks,
    { nullable: true },
  )
  project!: Relation<Project> | null
  @ManyToOne(
    () => Person,
    ({ tasks }) => tasks,
    { nullable: true },
  )
  assignee!: Relation<Person> | null
  @OneToMany(
    () => Comment,
    ({ task }) => task,
  )
  comments!: Relation<Comment>[]
}

@Entity()
@Resource({
  ...lists,
  auth: byHeader,
  exclude: ['shared'],
  scope: (me) => [{ shared: true }, { company__memberships__person: me.id }],
})
export class Tag {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) label!: string
  @Column({ type: 'boolean', default: false }) shared!: boolean
  @ManyToOne(() => Company, { nullable: true }) company!: Relation<Company> | null
  @ManyToMany(
    () => Project,
    ({ tags }) => tags,
  )
  projects!: Relation<Project>[]
}

/** All comments are visible, also those on tasks that are not. */
@Entity()
@Resource({ ...lists, auth: byHeader, scope: 'all' })
export class Comment {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) text!: string
  @ManyToOne(
    () => Task,
    ({ comments }) => comments,
    { nullable: true, onDelete: 'CASCADE' },
  )
  task!: Relation<Task> | null
}

/** Has a scope that permits every record, and a rule that permits one person. */
@Entity()
@Resource({ ...lists, auth: personTwo, scope: () => true })
export class Rate {
  @PrimaryColumn() id!: number
  @Column({ type: 'integer' }) hourly!: number
  @ManyToOne(
    () => Person,
    ({ rates }) => rates,
    { nullable: false },
  )
  person!: Relation<Person>
}

export const trackerEntities = [Company, Person, Membership, Project, Task, Tag, Comment, Rate]
