import 'reflect-metadata'
import {
  Check,
  Column,
  Entity,
  Index,
  JoinTable,
  ManyToMany,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { adminRule, Resource, UserAccount } from 'typeorm-resources'

// Columns are of types that every database has. A Date becomes what the database calls it: `datetime` or `timestamp`.

/** The default rule: everybody reads, nobody writes. */
@Entity()
@Resource({ description: 'Languages that are official somewhere.' })
export class Language {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 3, unique: true }) code!: string
  @Column({ length: 60 }) name!: string
}

@Entity()
@Resource({ auth: adminRule({ read: 'public' }), bulk: true, description: 'Countries of the world.' })
export class Country {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 3, unique: true }) code!: string
  @Column({ length: 60, unique: true }) name!: string
  @Column({ type: 'varchar', length: 60, nullable: true }) capital!: string | null
  @Column({ length: 20 }) region!: string
  @Column({ length: 40 }) subregion!: string
  @Column({ type: 'double precision', comment: 'In square kilometres.' }) area!: number
  @Column() landlocked!: boolean
  @ManyToMany(() => Language) @JoinTable() languages!: Language[]
  @ManyToMany(() => Country) @JoinTable() borders!: Country[]
}

@Entity()
@Resource({ auth: adminRule({ read: 'public' }), bulk: true, description: 'Cities and towns of the countries.' })
export class City {
  @PrimaryGeneratedColumn() id!: number
  @Index() @Column({ length: 80 }) name!: string
  @Index() @Column() population!: number
  @Column({ type: 'double precision' }) latitude!: number
  @Column({ type: 'double precision' }) longitude!: number
  @Index() @ManyToOne(() => Country, { nullable: false }) country!: Relation<Country>
}

@Entity()
@Resource({ exclude: ['password', 'email'], auth: adminRule() })
@UserAccount({ username: 'username', password: 'password', admin: 'admin', active: 'active' })
export class User {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40, unique: true }) username!: string
  @Column() password!: string
  @Column({ length: 120, unique: true }) email!: string
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
}

/** Every user reads all visits, makes visits of his own, and changes no others. */
@Entity()
// Unquoted, since double quotes make a string on MySQL; TypeORM leaves it out there, and server.ts adds it.
@Check('rating BETWEEN 1 AND 5')
@Resource({ ownerField: 'user', description: 'Who has been where, and how it was.' })
export class Visit {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 500, default: '' }) note!: string
  @Column({ type: 'smallint', comment: 'From 1 to 5.' }) rating!: number
  @Column() visited: Date = new Date()
  @Index() @ManyToOne(() => User, { nullable: false }) user!: Relation<User>
  @Index() @ManyToOne(() => City, { nullable: false }) city!: Relation<City>
}

export const entities = [Language, Country, City, User, Visit]
