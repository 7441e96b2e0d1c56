import { Column, Entity, JoinTable, ManyToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { permitAll } from './access'

/** An entity with a many-to-many relation to itself. The junction table is `person_friends_person`. */
@Entity()
@Resource({ auth: permitAll })
export class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @ManyToMany(() => Person)
  @JoinTable({ joinColumn: { name: 'one' }, inverseJoinColumn: { name: 'other' } })
  friends!: Relation<Person>[]
}
