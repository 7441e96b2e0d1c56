import 'reflect-metadata'
import { Column, CreateDateColumn, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { adminRule, Resource, UserAccount, userRule } from 'typeorm-resources'
import { types } from './leg'

@Entity()
@Resource({ exclude: ['password', 'email'], auth: adminRule() })
@UserAccount({ username: 'username', password: 'password', admin: 'admin', active: 'active' })
export class User {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40, unique: true }) username!: string
  @Column({ type: 'varchar', nullable: true }) password!: string | null
  @Column({ type: 'varchar', unique: true, nullable: true }) email!: string | null
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
}

/** Not a resource: no request can read it. */
@Entity()
export class Vault {
  @PrimaryGeneratedColumn() id!: number
  @Column() code!: string
}

@Entity()
@Resource({ exclude: ['secret'], auth: userRule({ read: 'public' }) })
export class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @Column({ type: 'text', nullable: true }) body!: string | null
  @Column({ default: 0 }) score!: number
  @Column({ type: 'smallint', nullable: true }) rank!: number | null
  @Column({ default: false }) published!: boolean
  @Column({ type: 'double precision', nullable: true }) weight!: number | null
  @Column({ type: 'decimal', precision: 6, scale: 2, nullable: true }) price!: string | null
  @Column({ type: 'bigint', nullable: true }) big!: string | null
  @Column({ type: 'date', nullable: true }) day!: string | null
  @Column({ type: 'time', nullable: true }) at!: string | null
  @Column({ type: 'simple-enum', enum: ['draft', 'final'], default: 'draft' }) status!: string
  @Column({ type: 'simple-json', nullable: true }) extra!: unknown
  @Column({ type: 'simple-array', nullable: true }) tags!: string[] | null
  @Column({ ...types.binary, nullable: true }) picture!: Buffer | null
  @Column(types.instant) created: Date = new Date()
  @Column({ type: 'varchar', nullable: true }) secret!: string | null
  @Column({ default: 7 }) limit!: number
  @ManyToOne(() => User, { onDelete: 'RESTRICT', nullable: false }) author!: User
  @ManyToOne(() => Note, { nullable: true }) parent!: Note | null
  @ManyToOne(() => Vault, { nullable: true }) vault!: Vault | null
}

@Entity()
@Resource({ ownerField: 'user', readOnly: ['stamp'] })
export class Message {
  @PrimaryGeneratedColumn() id!: number
  @Column() message!: string
  @CreateDateColumn() created!: Date
  @Column({ type: 'varchar', nullable: true }) stamp!: string | null
  @ManyToOne(() => User, { nullable: false }) user!: User
  @ManyToOne(() => Note, { nullable: true }) note!: Note | null
}

/** A resource with the default rule, and with a key that is not called `id`. */
@Entity()
@Resource()
export class Language {
  @PrimaryColumn({ length: 3 }) code!: string
  @Column() name!: string
}

@Entity()
@Resource({ name: 'word', auth: userRule({ read: 'public' }) })
export class LanguageWord {
  @PrimaryGeneratedColumn('uuid') id!: string
  @Column({ unique: true }) text!: string
  @ManyToOne(() => Language, { nullable: true }) language!: Language | null
}

/** All entities of this module. */
export const entities = [User, Vault, Note, Message, Language, LanguageWord]
