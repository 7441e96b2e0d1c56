import { Column, Entity, Index, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation, Unique } from 'typeorm'
import { type Principal, Resource, userRule } from 'typeorm-resources'
import { Company, Person } from './people'
import { Project, Task } from './projects'
import { inManagedCompany, inManagedProject, inProjectOfOwnCompany, writes } from './roles'

const ofPerson = (me: Principal) => ({ person: me.id })

/**
 * Working time. Members see the entries of their company's projects, and write their own, also by importing files. Guests see
 * none.
 */
@Entity()
@Resource({
  auth: userRule(),
  bulk: true,
  readOnly: ['person'],
  preset: ofPerson,
  scope: (me) => ({ task__project__company__memberships__person: me.id }),
  may: { update: ofPerson, delete: ofPerson },
  aggregate: true,
  formats: ['csv'],
})
export class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int' }) minutes!: number
  /** The CSV file of the page is sorted by this column. */
  @Index()
  @Column({ type: 'date' })
  day!: string
  @Index()
  @ManyToOne(
    () => Task,
    ({ entries }) => entries,
    { nullable: false },
  )
  task!: Relation<Task>
  @ManyToOne(() => Person, { nullable: false }) person!: Relation<Person>
}

/**
 * Members see invoices, managers write drafts, with their lines or without, and send them. Only the application marks an
 * invoice as paid.
 */
@Entity()
@Unique(['project', 'number'])
@Resource({
  auth: userRule(),
  nested: ['lines'],
  scope: inProjectOfOwnCompany,
  may: {
    create: (me) => ({ ...inManagedProject(me), status: 'draft' }),
    update: (me) => ({
      before: { ...inManagedProject(me), status: 'draft' },
      after: { ...inManagedProject(me), status__in: ['draft', 'sent'] },
    }),
    delete: (me) => ({ ...inManagedProject(me), status: 'draft' }),
  },
})
export class Invoice {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) number!: string
  @Column({ type: 'simple-enum', enum: ['draft', 'sent', 'paid'], default: 'draft' }) status!: 'draft' | 'sent' | 'paid'
  @ManyToOne(
    () => Project,
    ({ invoices }) => invoices,
    { nullable: false },
  )
  project!: Relation<Project>
  @OneToMany(
    () => Line,
    ({ invoice }) => invoice,
  )
  lines!: Relation<Line>[]
}

/** Managers write the lines of drafts. */
@Entity()
@Resource({
  auth: userRule(),
  scope: { through: 'invoice' },
  may: writes((me: Principal) => ({
    invoice__status: 'draft',
    invoice__project__company__memberships__person: me.id,
    invoice__project__company__memberships__role: 'manager',
  })),
})
export class Line {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 80 }) text!: string
  @Column({ type: 'int', default: 1 }) quantity!: number
  @Column({ type: 'decimal', precision: 10, scale: 2 }) price!: string
  @Index()
  @ManyToOne(
    () => Invoice,
    ({ lines }) => lines,
    { nullable: false, onDelete: 'CASCADE' },
  )
  invoice!: Relation<Invoice>
}

/** The hourly price of a person in a company. Only managers of the company see it. */
@Entity()
@Unique(['company', 'person'])
@Resource({ auth: userRule(), scope: inManagedCompany })
export class Rate {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int' }) hourly!: number
  @Index()
  @ManyToOne(
    () => Person,
    ({ rates }) => rates,
    { nullable: false },
  )
  person!: Relation<Person>
  @ManyToOne(() => Company, { nullable: false }) company!: Relation<Company>
}
