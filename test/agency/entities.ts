import { IsInt, Max, Min } from 'class-validator'
import {
  BeforeInsert,
  Column,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  type Relation,
} from 'typeorm'
import type { FieldPermission, Principal, ResourceRegistration, Rule } from 'typeorm-resources'

/**
 * An agency that hires out workers. What a person may read and write depends on their id: 1 has all permissions, 2 and 3
 * have some, 4 and anonymous clients have none.
 */

/** The header `x-person` names the person who sends a request. Without it the request is anonymous. */
export const byHeader: Rule = ({ context }) => ({
  id: context.get('x-person') === '' ? null : Number(context.get('x-person')),
})

/** A permission of the persons with these ids. */
const only =
  (...ids: readonly number[]) =>
  ({ id }: Principal): boolean =>
    ids.includes(Number(id))

class Address {
  @Column({ type: 'varchar', length: 40, nullable: true }) city!: string | null
  @Column({ type: 'varchar', length: 40, nullable: true }) phone!: string | null
}

class Bank {
  @Column({ type: 'varchar', length: 40, nullable: true }) iban!: string | null
  @Column({ type: 'varchar', length: 40, nullable: true }) holder!: string | null
}

@Entity()
export class Worker {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) name!: string
  @Column({ type: 'integer', default: 10 }) hourlyRate!: number
  /** Can be written by persons who cannot read it. */
  @Column({ type: 'varchar', length: 40, nullable: true }) pin!: string | null
  @Column({ type: 'varchar', length: 40, nullable: true, unique: true }) badge!: string | null
  @Column(() => Address) address!: Address
  @Column(() => Bank) bank!: Bank
  @ManyToOne(
    () => Worker,
    ({ mentees }) => mentees,
    { nullable: true },
  )
  mentor!: Relation<Worker> | null
  @OneToMany(
    () => Worker,
    ({ mentor }) => mentor,
  )
  mentees!: Relation<Worker>[]
  @OneToMany(
    () => Job,
    ({ worker }) => worker,
  )
  jobs!: Relation<Job>[]
  @OneToMany(
    () => Remark,
    ({ worker }) => worker,
  )
  remarks!: Relation<Remark>[]
  @ManyToMany(
    () => Skill,
    ({ workers }) => workers,
  )
  @JoinTable()
  skills!: Relation<Skill>[]
}

/** Leads to the restricted fields of workers. */
@Entity()
export class Job {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) title!: string
  @ManyToOne(
    () => Worker,
    ({ jobs }) => jobs,
    { nullable: true },
  )
  worker!: Relation<Worker> | null
}

@Entity()
export class Remark {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) text!: string
  @ManyToOne(
    () => Worker,
    ({ remarks }) => remarks,
    { nullable: true },
  )
  worker!: Relation<Worker> | null
}

@Entity()
export class Skill {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) label!: string
  @ManyToMany(
    () => Worker,
    ({ skills }) => skills,
  )
  workers!: Relation<Worker>[]
}

/** Refers to a restricted column. */
@Entity()
export class Entrance {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) place!: string
  @ManyToOne(() => Worker, { nullable: true })
  @JoinColumn({ name: 'badge', referencedColumnName: 'badge' })
  holder!: Relation<Worker> | null
}

/** Has listeners and validators, and belongs to persons by a field that only the application writes. */
@Entity()
export class Diary {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) text!: string
  @Column({ type: 'integer', default: 0 }) @IsInt() @Min(0) mood!: number
  @Column({ type: 'integer', nullable: true }) @Max(70) person!: number | null
  @BeforeInsert() fill(): void {
    this.mood ??= 5
  }
}

export const agencyEntities = [Worker, Job, Remark, Skill, Entrance, Diary]

const badge: FieldPermission = { read: only(1) }

/** Permissions by entity and property. */
const permissions: readonly (readonly [ResourceRegistration['entity'], Readonly<Record<string, FieldPermission>>])[] = [
  [
    Worker,
    {
      hourlyRate: { read: only(1, 2), write: only(1) },
      pin: { read: only(1), write: only(1, 3) },
      badge,
      'address.phone': { read: only(1, 2, 3), write: only(1, 2) },
      bank: { read: only(1) },
      mentor: { read: only(1, 3) },
      remarks: { read: only(1, 2) },
      skills: { read: only(1, 3) },
    },
  ],
  [Job, { title: { write: only(1, 2) } }],
  [Entrance, { holder: badge }],
  [Diary, { mood: { read: only(1, 3), write: only(1) }, person: { read: only(1), write: false } }],
]

const scope = { scope: (me: Principal) => me.id === 1 || { person: me.id } }

/** Options of every resource. */
const lists = { aggregate: true, formats: true } as const

/** The resources with the option `fields`. */
export const withFields: readonly ResourceRegistration[] = agencyEntities.map((entity) => {
  const fields = permissions.find(([owner]) => owner === entity)?.[1]
  return { ...lists, entity, ...(entity === Diary && scope), ...(fields && { fields }) }
})

/** The same resources as one person may see them, with the options `exclude` and `readOnly` instead of `fields`. */
export function withoutFields(person: number | undefined): readonly ResourceRegistration[] {
  const me: Principal = { id: person ?? null }
  const isPermitted = (permission: FieldPermission['read'] = true): boolean =>
    typeof permission === 'boolean' ? permission : permission(me)
  return agencyEntities.map((entity) => {
    const entries = Object.entries(permissions.find(([owner]) => owner === entity)?.[1] ?? {})
    const exclude = entries.filter(([, { read }]) => !isPermitted(read)).map(([property]) => property)
    const readOnly = entries.filter(([, { read, write = read }]) => !isPermitted(write)).map(([property]) => property)
    return { ...lists, entity, ...(entity === Diary && scope), exclude, readOnly }
  })
}
