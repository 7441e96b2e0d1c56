import {
  Column,
  DeleteDateColumn,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { readPages } from '../support/pages'
import { openWorld, type World } from '../world/world'

/** Paths of the records that follow an included list, if the parent may be soft-deleted. */

@Entity()
@Resource({ auth: permitAllAsUser1, may: { restore: true } })
class Book {
  @PrimaryGeneratedColumn() id!: number
  @DeleteDateColumn() deleted!: Date | null
  @ManyToMany(() => Tag, 'books') @JoinTable() tags!: Relation<Tag>[]
  @OneToMany('Page', 'book') pages!: Relation<Page>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Tag {
  @PrimaryGeneratedColumn() id!: number
  @ManyToMany(() => Book, 'tags') books!: Relation<Book>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column() number!: number
  @ManyToOne(() => Book, 'pages') book!: Relation<Book>
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Book, Tag, Page],
    seed: async (source) => {
      const tags = await source.getRepository(Tag).save([{}, {}, {}])
      await source.getRepository(Book).save([
        { tags, deleted: null },
        { tags, deleted: new Date() },
      ])
      const pages = [1, 2].flatMap((id) => [1, 2, 3].map((number) => ({ number, book: { id } })))
      await source.getRepository(Page).insert(pages)
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

interface Included {
  readonly tags_next: string | null
  readonly pages_next: string | null
}

test('the document says that such a path may be null', async () => {
  const { text } = await get('openapi.json')
  expect(text).toMatch(/"tags_next":\{"type":\["string","null"\]/)
  expect(text).toMatch(/"pages_next":\{"type":"string"/)
})

test.each([
  ['book/1/?', true],
  ['book/2/?deleted=only&', false],
  ['book/?deleted=with&', false],
])('%sinclude=…: a path exists if a filter finds the records (%s)', async (path, areFound) => {
  const json = (await get(`${path}include=tags(limit:1),pages(limit:1)`)).json() as Included & {
    readonly objects?: readonly Included[]
  }
  for (const { tags_next: tags, pages_next: pages } of json.objects ?? [json]) {
    expect(tags).toEqual(areFound ? expect.stringContaining('/api/tag/?books__id=1&') : null)
    // The foreign key of the pages does not depend on the book.
    expect((await readPages(world.url, pages ?? '')).flatMap(({ objects }) => objects)).toHaveLength(2)
  }
})
