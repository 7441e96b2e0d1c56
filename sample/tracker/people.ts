import {
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  Unique,
  VirtualColumn,
} from 'typeorm'
import { Resource, UserAccount, userRule } from 'typeorm-resources'
import { Rate } from './billing'
import { Guest, Project } from './projects'
import { inManagedCompany, managesAllSql, writes } from './roles'

/** People see the companies of which they are members. Managers rename them. */
@Entity()
@Resource({
  auth: userRule(),
  scope: (me) => ({ memberships__person: me.id }),
  may: {
    create: false,
    update: (me) => ({ memberships__person: me.id, memberships__role: 'manager' }),
    delete: false,
  },
})
export class Company {
  @PrimaryGeneratedColumn() id!: number
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

/**
 * The users. People see themselves, their colleagues, the guests of their company's projects, and the members of the
 * companies that have invited them. They change their own record only.
 */
@Entity()
@UserAccount({ principal: ['managesAll'] })
@Resource({
  auth: userRule(),
  exclude: ['managesAll'],
  scope: (me) => [
    { id: me.id },
    { memberships__company__memberships__person: me.id },
    { invitations__project__company__memberships__person: me.id },
    { memberships__company__projects__guests__person: me.id },
  ],
  may: { create: false, update: (me) => ({ id: me.id }), delete: false },
})
export class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 40, unique: true }) username!: string
  @Column({ type: 'varchar', length: 255 }) password!: string
  @VirtualColumn({ type: 'int', query: managesAllSql }) managesAll!: number
  @OneToMany(
    () => Membership,
    ({ person }) => person,
  )
  memberships!: Relation<Membership>[]
  @OneToMany(
    () => Guest,
    ({ person }) => person,
  )
  invitations!: Relation<Guest>[]
  @OneToMany(
    () => Rate,
    ({ person }) => person,
  )
  rates!: Relation<Rate>[]
}

/**
 * The role of a person in a company. Managers write the memberships of others, never their own: a new record is checked
 * after it is stored, so without `person__ne` a new membership as a manager would permit itself.
 */
@Entity()
@Unique(['person', 'company'])
@Resource({
  auth: userRule(),
  scope: { through: 'company' },
  may: writes((me) => ({ ...inManagedCompany(me), person__ne: me.id })),
})
export class Membership {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'simple-enum', enum: ['manager', 'member'], default: 'member' }) role!: 'manager' | 'member'
  @ManyToOne(
    () => Person,
    ({ memberships }) => memberships,
    { nullable: false },
  )
  @JoinColumn({ name: 'person_id' })
  person!: Relation<Person>
  @Index()
  @ManyToOne(
    () => Company,
    ({ memberships }) => memberships,
    { nullable: false },
  )
  @JoinColumn({ name: 'company_id' })
  company!: Relation<Company>
}
