import { MaxLength } from 'class-validator'
import {
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  Unique,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { VariedIndex } from '../world/vary'
import { permitAll } from './access'

/** An invoice with lines, which have parts, and with tags. */

@Entity()
@Resource({ auth: permitAll, nested: ['lines', 'tags'] })
export class Invoice {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @OneToMany(
    () => Line,
    (line) => line.invoice,
  )
  lines!: Relation<Line>[]
  @ManyToMany(
    () => Tag,
    (tag) => tag.invoices,
  )
  @JoinTable()
  tags!: Relation<Tag>[]
}

@Entity()
@Unique(['invoice', 'position'])
@Resource({ auth: permitAll, nested: ['parts', 'tags'], exclude: ['secret'], readOnly: ['created'] })
export class Line {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') position!: number
  @Column({ length: 20 }) @MaxLength(5) text!: string
  @Column({ type: 'varchar', length: 20, default: 'fixed' }) created!: string
  @Column({ type: 'varchar', length: 20, default: '' }) secret!: string
  @VariedIndex()
  @ManyToOne(
    () => Invoice,
    (invoice) => invoice.lines,
    { nullable: false },
  )
  invoice!: Relation<Invoice>
  @OneToMany(
    () => Part,
    (part) => part.line,
  )
  parts!: Relation<Part>[]
  @ManyToMany(() => Tag)
  @JoinTable()
  tags!: Relation<Tag>[]
}

@Entity()
@Resource({ auth: permitAll, nested: ['screws'] })
export class Part {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @VariedIndex()
  @ManyToOne(
    () => Line,
    (line) => line.parts,
    { nullable: false, onDelete: 'CASCADE' },
  )
  line!: Relation<Line>
  @OneToMany(
    () => Screw,
    (screw) => screw.part,
  )
  screws!: Relation<Screw>[]
}

@Entity()
@Resource({ auth: permitAll })
export class Screw {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Part,
    (part) => part.screws,
    { nullable: false },
  )
  part!: Relation<Part>
}

@Entity()
@Resource({ auth: permitAll, bulk: true, nested: [{ field: 'invoices', ids: 'in_invoices' }] })
export class Tag {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @ManyToMany(
    () => Invoice,
    (invoice) => invoice.tags,
  )
  invoices!: Relation<Invoice>[]
}

export const nestedEntities = [Invoice, Line, Part, Screw, Tag]
