import {
  BeforeUpdate,
  Column,
  type DataSource,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
  UpdateDateColumn,
  VersionColumn,
} from 'typeorm'
import { adminRule, Resource, UserAccount, userRule } from 'typeorm-resources'
import { types } from '../world/leg'

/** Entities with every kind of hidden column, for two databases that differ only in these columns. */

/** Options of every resource. */
const lists = { aggregate: true, formats: true } as const

const hash = (plain: string): string => `hash of ${plain}`

@Entity()
@UserAccount({ hash, verify: (plain, stored) => hash(plain) === stored })
@Resource({
  ...lists,
  exclude: ['password', 'email', 'phone', 'born', 'boss', 'reviews'],
  auth: adminRule({ read: 'public' }),
})
export class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40, unique: true }) username!: string
  @Column({ type: 'varchar', nullable: true }) password!: string | null
  @Column({ type: 'varchar', nullable: true, unique: true }) email!: string | null
  @Column({ type: 'varchar', nullable: true, select: false }) phone!: string | null
  @Column({ type: 'date', nullable: true }) born!: string | null
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
  @ManyToOne(() => Person, { nullable: true, onDelete: 'SET NULL' }) boss!: Person | null
  @OneToMany(
    () => Article,
    (article) => article.reviewer,
  )
  reviews!: Relation<Article>[]
}

/** Not a resource. */
@Entity()
export class Safe {
  @PrimaryGeneratedColumn() id!: number
  @Column() code!: string
}

@Entity()
@Resource({ ...lists, exclude: ['colour', 'marked'] })
export class Label {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @Column({ type: 'varchar', nullable: true }) colour!: string | null
  @ManyToMany(
    () => Article,
    (article) => article.marks,
  )
  marked!: Relation<Article>[]
}

class Stats {
  @Column({ default: 0 }) likes!: number
  @Column({ default: 0 }) views!: number
}

@Entity()
@Resource({
  ...lists,
  search: ['title', 'body', 'author.username', 'parent.title'],
  exclude: [
    'secret',
    'grade',
    'flagged',
    'due',
    'notes',
    'words',
    'cost',
    'token',
    'serial',
    'sealed',
    'stats.views',
    'revision',
    'touched',
    'reviewer',
    'safe',
    'twin',
    'marks',
  ],
  readOnly: ['sealed'],
  auth: userRule({ read: 'public' }),
})
export class Article {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 30 }) title!: string
  @Column({ type: 'text', nullable: true }) body!: string | null
  @Column({ default: 0 }) score!: number
  @Column({ default: false }) published!: boolean
  @Column({ type: 'decimal', precision: 6, scale: 2, nullable: true }) price!: string | null
  @Column({ type: 'date', nullable: true }) day!: string | null
  @Column({ type: 'varchar', length: 20, nullable: true, unique: true }) code!: string | null
  @Column(types.instant) created!: Date
  @ManyToOne(() => Person, { nullable: false }) author!: Person
  @ManyToOne(() => Article, { nullable: true }) parent!: Article | null
  @ManyToMany(() => Label) @JoinTable() labels!: Label[]
  @OneToMany(
    () => Remark,
    (remark) => remark.article,
  )
  remarks!: Relation<Remark>[]

  @Column({ type: 'varchar', nullable: true }) secret!: string | null
  @Column({ default: 0 }) grade!: number
  @Column({ default: false }) flagged!: boolean
  @Column({ type: 'date', nullable: true }) due!: string | null
  @Column({ type: 'simple-json', nullable: true }) notes!: unknown
  @Column({ type: 'simple-array', nullable: true }) words!: string[] | null
  @Column({ type: 'decimal', precision: 6, scale: 2, nullable: true }) cost!: string | null
  @Column({ type: 'varchar', nullable: true, select: false }) token!: string | null
  @Column({ type: 'varchar', nullable: true, unique: true }) serial!: string | null
  /** A value that is sent back must be compared with the shown value, not with the stored one, which contains a hidden part. */
  @Column({ type: 'varchar', nullable: true }) sealed!: string | null
  @Column({ ...types.binary, nullable: true }) picture!: Buffer | null
  @Column(() => Stats) stats!: Stats
  @VersionColumn() revision!: number
  @UpdateDateColumn() touched!: Date
  @ManyToOne(
    () => Person,
    (person) => person.reviews,
    { nullable: true, onDelete: 'SET NULL' },
  )
  reviewer!: Person | null
  @ManyToOne(() => Safe, { nullable: true }) safe!: Safe | null
  @ManyToOne(() => Article, { nullable: true, onDelete: 'SET NULL' }) twin!: Article | null
  @ManyToMany(
    () => Label,
    (label) => label.marked,
  )
  @JoinTable()
  marks!: Label[]
}

@Entity()
@Resource({ ...lists, exclude: ['mood', 'helper'], ownerField: 'person', auth: userRule({ read: 'public' }) })
export class Remark {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @Column({ type: 'varchar', nullable: true }) mood!: string | null
  @ManyToOne(() => Person, { nullable: false }) person!: Person
  @ManyToOne(() => Person, { nullable: true, onDelete: 'SET NULL' }) helper!: Person | null
  @ManyToOne(
    () => Article,
    (article) => article.remarks,
    { nullable: true },
  )
  article!: Article | null
}

/** Shows its version and has a listener, with which its hidden columns are written too. */
@Entity()
@Resource({ ...lists, exclude: ['pin', 'memo'], auth: userRule({ read: 'public' }) })
export class Sheet {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column({ type: 'int', nullable: true }) pin!: number | null
  @Column({ type: 'varchar', nullable: true }) memo!: string | null
  @VersionColumn() revision!: number
  @BeforeUpdate() hear(): void {}
}

/** A tree with the same columns. */
@Entity()
@Tree('materialized-path')
@Resource({ ...lists, exclude: ['pin', 'memo'], auth: userRule({ read: 'public' }) })
export class Branch {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column({ type: 'int', nullable: true }) pin!: number | null
  @Column({ type: 'varchar', nullable: true }) memo!: string | null
  @VersionColumn() revision!: number
  @TreeParent() parent!: Relation<Branch> | null
  @TreeChildren() children!: Relation<Branch>[]
}

/** All entities of this module. */
export const twinEntities = [Person, Safe, Label, Article, Remark, Sheet, Branch]

/** Columns that differ between the databases, by table, under their names in the database. */
export const hiddenColumns: Readonly<Record<string, readonly string[]>> = {
  person: ['password', 'email', 'phone', 'born', 'bossId'],
  safe: ['code'],
  label: ['colour'],
  article: [
    'secret',
    'grade',
    'flagged',
    'due',
    'notes',
    'words',
    'cost',
    'token',
    'serial',
    'sealed',
    'picture',
    'statsViews',
    'revision',
    'touched',
    'reviewerId',
    'safeId',
    'twinId',
  ],
  remark: ['mood', 'helperId'],
  sheet: ['pin', 'memo'],
  branch: ['pin', 'memo'],
}

/** Number of one of the two databases. */
export type Side = 0 | 1

/** Hidden text of a row. It differs between the databases, which have null in different rows. */
const hiddenText = (side: Side, row: number): string | null => (row % 3 === side ? null : `hidden${side}-${row}`)
/** Hidden number of a row, in opposite orders in the two databases. */
const hiddenNumber = (side: Side, row: number): number => (side === 0 ? row : 100 - row)
const hiddenDay = (side: Side, row: number): string => `${2000 + (hiddenNumber(side, row) % 90)}-01-01`
const hiddenKey = (side: Side, row: number, count: number): { id: number } | null =>
  row % 4 === side ? null : { id: ((row + side) % count) + 1 }

const names = ['ann', 'bob', 'carl', 'dora', 'emil']
const articles = 14
const remarks = 9
const labels = 5
const sheets = 9

/** The users who log in have the same hash in both databases; another user has one in only one of them. */
const person = (side: Side, username: string, index: number): object => ({
  id: index + 1,
  username,
  password: index < 2 ? hash(username) : hiddenText(side, index),
  admin: index === 0,
  active: index !== 4,
  email: `${username}@side${side}.example`,
  phone: hiddenText(side, index),
  born: hiddenDay(side, index),
  boss: { id: side === 0 ? 1 : index + 1 },
})

const article = (side: Side, index: number): object => ({
  id: index + 1,
  title: ['alpha', 'Beta', 'gamma', '100%', 'épée'][index % 5],
  body: index % 3 === 0 ? null : `text ${index}`,
  score: index % 4,
  published: index % 2 === 0,
  price: index % 4 === 0 ? null : `${index}.50`,
  day: index % 5 === 0 ? null : `2024-02-${10 + index}`,
  code: index % 3 === 0 ? null : `c${index}`,
  created: new Date(Date.UTC(2024, 0, 1 + index, 10, 20, 30, index)),
  author: { id: (index % 3) + 1 },
  parent: index < 2 ? null : { id: Math.ceil((index + 1) / 3) },
  stats: { likes: index % 3, views: hiddenNumber(side, index) },
  secret: hiddenText(side, index),
  grade: hiddenNumber(side, index),
  flagged: index % 2 === side,
  due: hiddenDay(side, index),
  notes: { side, index },
  words: [`side${side}`],
  cost: `${hiddenNumber(side, index)}.25`,
  token: hiddenText(side, index),
  serial: `serial${side}-${index}`,
  sealed: hiddenText(side, index),
  picture: Buffer.from([side, index]),
  revision: 1 + side + index,
  touched: new Date(Date.UTC(2023, side, 1 + index)),
  reviewer: hiddenKey(side, index, names.length),
  safe: hiddenKey(side, index, 3),
  twin: { id: side === 0 ? 1 : index + 1 },
})

const remark = (side: Side, index: number): object => ({
  id: index + 1,
  text: `remark ${index}`,
  person: { id: (index % 3) + 1 },
  article: index % 4 === 0 ? null : { id: index + 1 },
  mood: hiddenText(side, index),
  helper: hiddenKey(side, index, names.length),
})

const sheet = (side: Side, index: number): object => ({
  title: `sheet ${index}`,
  pin: hiddenNumber(side, index),
  memo: hiddenText(side, index),
})

const each = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** Fills one of the two databases. Generated keys continue after the inserted ones in both. */
export async function seedTwin(dataSource: DataSource, side: Side): Promise<void> {
  const add = async (
    entity: typeof Article | typeof Person | typeof Safe | typeof Label | typeof Remark,
    rows: object[],
  ) => dataSource.createQueryBuilder().insert().into(entity).values(rows).execute()
  await add(
    Person,
    names.map((username, index) => person(side, username, index)),
  )
  await add(
    Safe,
    each(3, (index) => ({ id: index + 1, code: `safe${side}-${index}` })),
  )
  await add(
    Label,
    each(labels, (index) => ({ id: index + 1, name: `label ${index}`, colour: hiddenText(side, index) })),
  )
  await add(
    Article,
    each(articles, (index) => article(side, index)),
  )
  await add(
    Remark,
    each(remarks, (index) => remark(side, index)),
  )
  for (let id = 1; id <= articles; id += 1) {
    const relate = (name: string, to: number): Promise<void> =>
      dataSource.createQueryBuilder().relation(Article, name).of(id).add(to)
    await relate('labels', (id % labels) + 1)
    await relate('marks', ((id + side) % labels) + 1)
  }
  for (let index = 0; index < sheets; index += 1) {
    await dataSource.manager.save(Sheet, sheet(side, index) as Sheet)
    const parent = index < 2 ? null : { id: Math.ceil(index / 2) }
    await dataSource.manager.save(Branch, { ...sheet(side, index), parent } as Branch)
  }
}
