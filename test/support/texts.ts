import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { isMariadb } from '../world/leg'
import { permitAll } from './access'

export const KiB = 1024
export const MiB = 1024 * KiB

/** Column type for texts of any length. */
export const longText = isMariadb ? 'longtext' : 'text'

/** A resource with a text of any length. */
@Entity()
@Resource({ auth: permitAll })
export class Story {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) body!: string
}

/** A resource with short columns only. */
@Entity()
@Resource({ auth: permitAll })
export class Plain {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') rank!: number
  @Column({ type: 'varchar', length: 100 }) title!: string
}
