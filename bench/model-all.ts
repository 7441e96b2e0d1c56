/**
 * The tables of `model.ts` with the options of all features, for the implementation `ours-all`. Every function permits everything: the
 * features are switched on, and the records are the same as without them.
 */
import {
  Column,
  CreateDateColumn,
  Entity,
  Index,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { ApiKeys, IdempotencyKey, Resource, UserAccount } from 'typeorm-resources'

const permitted = () => true
const may = { create: permitted, update: permitted, delete: permitted }

@Entity('users')
@Resource({
  name: 'user',
  exclude: ['email', 'password'],
  scope: permitted,
  may,
  fields: { active: { read: permitted, write: permitted } },
})
@UserAccount()
export class FullUser {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column() email!: string
  @Column() password!: string
  @Column() admin!: boolean
  @Column() active!: boolean
}

@Entity('notes')
@Resource({
  name: 'note',
  description: 'A note of a user.',
  scope: permitted,
  may,
  fields: { title: { read: permitted, write: permitted }, body: { read: permitted, write: permitted } },
  includes: ['author', 'comments'],
  nested: ['comments'],
  search: ['title', 'body', 'author.username'],
  aggregate: true,
  formats: true,
  bulk: true,
})
export class FullNote {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column('text') body!: string
  @Index() @Column() score!: number
  @Column() published!: boolean
  @CreateDateColumn() created!: Date
  @ManyToOne(() => FullUser, { nullable: false }) author!: Relation<FullUser>
  @Index() @Column() authorId!: number
  @OneToMany(
    () => NoteComment,
    (comment) => comment.note,
  )
  comments!: Relation<NoteComment>[]
}

@Entity('note_comments')
@Resource({ name: 'comment', scope: { through: 'note' }, may })
export class NoteComment {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 500 }) text!: string
  @Index()
  @ManyToOne(
    () => FullNote,
    (note) => note.comments,
    { nullable: false },
  )
  note!: Relation<FullNote>
}

/** An entry of the audit log. */
@Entity('log_entries')
export class LogEntry {
  @PrimaryGeneratedColumn() id!: number
  @Column() resource!: string
  @Column() record!: string
  @Column() action!: string
  @Column({ type: 'varchar', length: 255, nullable: true }) principal!: string | null
  @Column('simple-json') changes!: object
  @CreateDateColumn() at!: Date
}

@Entity('api_keys')
@ApiKeys()
export class ApiKey {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) prefix!: string
  @Column() hash!: string
  @ManyToOne(() => FullUser, { nullable: false }) user!: Relation<FullUser>
  @Column('simple-json', { nullable: true }) permissions!: Record<string, string[]> | null
}

export const allEntities = [FullUser, FullNote, NoteComment, LogEntry, ApiKey, IdempotencyKey]
