import { Column, CreateDateColumn, Entity, Index, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource, UserAccount } from 'typeorm-resources'

@Entity('users')
@Resource({ name: 'user', exclude: ['email', 'password'] })
@UserAccount()
export class User {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column() email!: string
  @Column() password!: string
  @Column() admin!: boolean
  @Column() active!: boolean
}

@Entity('notes')
@Resource({ name: 'note' })
export class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column('text') body!: string
  @Index() @Column() score!: number
  @Column() published!: boolean
  @CreateDateColumn() created!: Date
  @ManyToOne(() => User, { nullable: false }) author!: Relation<User>
  @Index() @Column() authorId!: number
}
