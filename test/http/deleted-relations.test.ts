import {
  ChildEntity,
  Column,
  type DataSource,
  DeleteDateColumn,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** To-many relations to records that are soft-deleted, or of another type in a table with several types: such records are ignored. */

@Entity()
@Resource({ auth: permitAll })
class Folder {
  @PrimaryColumn() id!: number
  @OneToMany(() => Doc, 'folder') docs!: Relation<Doc>[]
}

@Entity()
@Resource({ auth: permitAll })
class Doc {
  @PrimaryColumn() id!: number
  @ManyToOne(() => Folder, 'docs') folder!: Relation<Folder> | null
  @ManyToMany(() => Tag, 'docs') @JoinTable({ name: 'doc_tags' }) tags!: Relation<Tag>[]
  @ManyToMany(() => Circle) @JoinTable({ name: 'doc_circles' }) circles!: Relation<Circle>[]
  @OneToMany(() => Comment, 'doc') comments!: Relation<Comment>[]
}

@Entity()
@Resource({ auth: permitAll })
class Tag {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 10, nullable: true }) name!: string | null
  @ManyToMany(() => Doc, 'tags') docs!: Relation<Doc>[]
  @DeleteDateColumn() deleted!: Date | null
}

@Entity()
@Resource({ auth: permitAll })
class Comment {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 10, nullable: true }) text!: string | null
  @ManyToOne(() => Doc, 'comments') doc!: Relation<Doc> | null
  @DeleteDateColumn() deleted!: Date | null
}

@Entity()
@Resource({ auth: permitAll })
@TableInheritance({ column: 'kind' })
class Shape {
  @PrimaryColumn() id!: number
  @Column({ length: 20 }) kind!: string
}

@ChildEntity()
@Resource({ auth: permitAll })
class Circle extends Shape {}

@ChildEntity()
@Resource({ auth: permitAll })
class Square extends Shape {}

async function seed({ manager }: DataSource): Promise<void> {
  const byId = (...ids: readonly number[]): { id: number }[] => ids.map((id) => ({ id }))
  await manager.save(Folder, byId(1, 2, 3) as Folder[])
  await manager.save(Tag, [
    { id: 1, name: 'a' },
    { id: 2, name: 'b' },
    { id: 3, name: null },
  ] as Tag[])
  await manager.save(Circle, { id: 1 } as Circle)
  await manager.save(Square, { id: 2 } as Square)
  await manager.save(Doc, [
    { id: 1, folder: { id: 1 }, tags: byId(1, 2), circles: byId(1, 2) },
    { id: 2, folder: { id: 1 }, tags: byId(2), circles: byId(2) },
    { id: 3, folder: null, tags: [], circles: [] },
    { id: 4, folder: { id: 2 }, tags: byId(1, 3), circles: byId(1) },
  ] as unknown as Doc[])
  const comments = [
    { id: 1, text: 'x', doc: { id: 1 } },
    { id: 2, text: 'x', doc: { id: 1 } },
    { id: 3, text: 'x', doc: { id: 2 } },
    { id: 4, text: null, doc: { id: 4 } },
    { id: 5, text: 'x', doc: null },
  ]
  await manager.save(Comment, comments as unknown as Comment[])
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Folder, Doc, Tag, Comment, Shape, Circle, Square], seed })
  for (const path of ['tag/2', 'comment/2', 'comment/3']) {
    expect((await send(world.url, `DELETE /api/${path}/`)).status).toBe(204)
  }
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { ids } = apiOf(() => world.url)

const all: Readonly<Record<string, readonly number[]>> = { doc: [1, 2, 3, 4], folder: [1, 2, 3], comment: [1, 4, 5] }

test.each([
  // Many-to-many, to a resource with soft-deleted records.
  ['doc', 'tags__id__is:null', [2, 3]],
  ['doc', 'tags__id__is:not_null', [1, 4]],
  ['doc', 'tags__name__is:null', [2, 3, 4]],
  ['doc', 'and(tags__id__is:null,tags__name__is:null)', [2, 3]],
  ['doc', 'and(tags__id__is:null,tags__id__is:not_null)', []],
  ['doc', 'tags__name:b', []],
  ['doc', 'tags__name:a', [1, 4]],
  ['doc', 'tags__name__ne:z', [1, 4]],
  // Many-to-many, to one type of a table with several types.
  ['doc', 'circles__id__is:null', [2, 3]],
  ['doc', 'circles__id__is:not_null', [1, 4]],
  // One-to-many.
  ['doc', 'comments__id__is:null', [2, 3]],
  ['doc', 'comments__id__is:not_null', [1, 4]],
  ['doc', 'comments__text__is:null', [2, 3, 4]],
  // Chains.
  ['folder', 'docs__tags__id__is:null', [1, 3]],
  ['folder', 'docs__tags__name__is:null', [1, 2, 3]],
  ['folder', 'docs__tags__docs__id__is:null', [1, 3]],
  ['doc', 'tags__docs__folder__id__is:null', [2, 3]],
  ['doc', 'tags__docs__tags__id__is:null', [2, 3]],
  ['comment', 'doc__tags__id__is:null', [5]],
  ['comment', 'doc__comments__id__is:null', [5]],
] as const)('a %s is found by %s, and the others by its negation', async (model, filter, expected) => {
  expect(await ids(`${model}/?and=(${filter})`)).toEqual(expected)
  const others = all[model]?.filter((id) => !(expected as readonly number[]).includes(id))
  expect(await ids(`${model}/?not=(${filter})`)).toEqual(others)
})
