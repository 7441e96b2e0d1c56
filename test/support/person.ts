import { Column, Entity, JoinTable, ManyToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { permitAll } from './access'

/** Has a many-to-many relation to its own entity, whose junction table is `person_friends_person`. */
@Entity()
@Resource({ auth: permitAll })
export class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @ManyToMany(() => Person)
  @JoinTable({ joinColumn: { name: 'one' }, inverseJoinColumn: { name: 'other' } })
  friends!: Relation<Person>[]
}
