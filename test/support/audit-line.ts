import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'

/** Entry of an audit log, for tests in which its columns do not matter. */
@Entity()
export class AuditLine {
  @PrimaryGeneratedColumn() id!: number
  @Column() resource!: string
  @Column() record!: string
  @Column() action!: string
  @Column({ type: 'varchar', nullable: true }) principal!: string | null
  @Column({ type: 'simple-json' }) changes!: object
}
