import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'

/** Entry of an audit log with the simplest columns. On MySQL and MariaDB, `changes` has at most 64 KiB. */
@Entity()
export class AuditLine {
  @PrimaryGeneratedColumn() id!: number
  @Column() resource!: string
  @Column() record!: string
  @Column() action!: string
  @Column({ type: 'varchar', nullable: true }) principal!: string | null
  @Column({ type: 'simple-json' }) changes!: object
}
