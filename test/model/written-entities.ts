import { Max, Min } from 'class-validator'
import {
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  Unique,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { permitAll } from '../support/access'
import { changeKeyType, type KeyType, keyOf, keyTypes, pick, VariedIndex, variedSeed } from '../world/vary'

/** Entities of the write sequences: purchases with lines of products, and labels. */

@Entity()
@Resource({ auth: permitAll, bulk: true })
export class Product {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 10, unique: true }) code!: string
  @Max(100) @Column({ type: 'int', default: 1 }) price!: number
}

/** Has a key that clients choose. */
@Entity()
@Resource({ auth: permitAll, bulk: true })
export class Label {
  @PrimaryColumn({ length: 10 }) code!: string
  @Column({ type: 'varchar', length: 10, nullable: true }) title!: string | null
}

@Entity()
@Resource({ auth: permitAll, bulk: true, nested: ['lines', 'labels'] })
export class Purchase {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int', unique: true }) number!: number
  @Column({ type: 'varchar', length: 10, nullable: true }) title!: string | null
  @OneToMany(
    () => Line,
    (line) => line.purchase,
  )
  lines!: Relation<Line>[]
  @ManyToMany(() => Label) @JoinTable() labels!: Relation<Label>[]
}

@Entity()
@Unique(['purchase', 'position'])
@Resource({ auth: permitAll, bulk: 4 })
export class Line {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Purchase,
    (purchase) => purchase.lines,
    { nullable: false, onDelete: 'CASCADE' },
  )
  purchase!: Relation<Purchase>
  @VariedIndex()
  @ManyToOne(() => Product)
  product!: Relation<Product> | null
  @Column({ type: 'int' }) position!: number
  @Min(1) @Column({ type: 'int', default: 1 }) quantity!: number
}

export const writtenEntities = [Product, Label, Purchase, Line] as const
const keyTypeOf = ({ name }: { readonly name: string }): KeyType => pick(keyTypes, variedSeed, name)
for (const entity of [Product, Purchase, Line]) changeKeyType(entity, keyTypeOf(entity))

const missingNumber = 999_999
/** Keys of no record. */
export const missingKeys = {
  product: keyOf(keyTypeOf(Product), missingNumber),
  label: 'zz',
  purchase: keyOf(keyTypeOf(Purchase), missingNumber),
  line: keyOf(keyTypeOf(Line), missingNumber),
} as const

/** Its entity is written with listeners. */
abstract class Listener {
  async afterInsert(): Promise<void> {}
  async afterUpdate(): Promise<void> {}
  async afterRemove(): Promise<void> {}
}

@EventSubscriber()
class ProductListener extends Listener implements EntitySubscriberInterface<Product> {
  listenTo = () => Product
}

@EventSubscriber()
class LineListener extends Listener implements EntitySubscriberInterface<Line> {
  listenTo = () => Line
}

/** The subscribers of a seed: an entity without a listener is written by other statements. */
export const writtenSubscribers = [ProductListener, LineListener].filter(({ name }) =>
  pick([true, false], variedSeed, name),
)
