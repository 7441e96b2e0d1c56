import { Column, Entity, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { ApiKeys, Resource } from 'typeorm-resources'
import { Person } from './people'

/**
 * The keys of programs. People see and write their own. `lastUsed` is excluded, so that the `ETag` of a key does not change
 * when it is used.
 */
@Entity('apikey')
@Resource({ ownerField: 'user', scope: (me) => ({ user: me.id }), exclude: ['lastUsed'] })
@ApiKeys()
export class ApiKey {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 40, default: '' }) name!: string
  @Column({ type: 'varchar', length: 20, unique: true }) prefix!: string
  @Column({ type: 'varchar', length: 64 }) hash!: string
  @ManyToOne(() => Person, { nullable: false }) user!: Relation<Person>
  @Column({ type: Date, nullable: true }) expires!: Date | null
  @Column({ type: Date, nullable: true }) lastUsed!: Date | null
  @Column({ type: 'simple-json', nullable: true }) permissions!: Record<string, string[]> | null
}
