import {
  Check,
  Column,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { setOnce } from '../support/mysql-session'
import { openWorld, type World } from '../world/world'

/** Defaults of the server with which it would return too few rows, or not check constraints. */

@Entity()
@Resource({ auth: permitAll, formats: true })
class Author {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => Book,
    ({ author }) => author,
  )
  books!: Relation<Book>[]
}

@Entity()
@Check('positive_pages', '`pages` > 0')
@Resource({ auth: permitAll, bulk: true })
class Book {
  @PrimaryGeneratedColumn() id!: number
  @Column() pages!: number
  @Column({ type: 'varchar', length: 20, nullable: true, unique: true }) isbn!: string | null
  @ManyToOne(
    () => Author,
    ({ books }) => books,
  )
  author!: Relation<Author> | null
}

@Entity()
@Tree('nested-set')
@Resource({ auth: permitAll, name: 'section' })
class Section {
  @PrimaryGeneratedColumn() id!: number
  @TreeParent() parent!: Section | null
  @TreeChildren() children!: Section[]
}

@Entity()
@Tree('materialized-path')
@Resource({ auth: permitAll, name: 'folder' })
class Folder {
  @PrimaryGeneratedColumn() id!: number
  @TreeParent() parent!: Folder | null
  @TreeChildren() children!: Folder[]
}

describe('a connection with other defaults', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities: [Author, Book, Section, Folder],
      seed: async (dataSource) => {
        await dataSource.query('ALTER TABLE book ADD CONSTRAINT positive_pages CHECK (pages > 0)')
        await dataSource.getRepository(Author).insert([{}, {}, {}])
        const books = Array.from({ length: 12 }, (_, index) => ({ pages: 1, author: { id: (index % 2) + 1 } }))
        await dataSource.getRepository(Book).insert(books)
        const checks = 'foreign_key_checks = 0, check_constraint_checks = 0, sql_safe_updates = 1'
        await setOnce(dataSource, `SET sql_select_limit = 2, ${checks}, lc_messages = 'de_DE'`)
      },
      source: { poolSize: 1 },
    })
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })
  const { get, ids, post, put } = apiOf(() => world.url)

  test('returns all records', async () => {
    const { objects } = (await get('author/?include=books')).json() as { objects: { books: object[] }[] }
    expect(objects.map(({ books }) => books.length)).toEqual([6, 6, 0])
    expect(await ids('book/?limit=10')).toHaveLength(10)
    expect((await get('author/?format=ndjson')).text.trim().split('\n')).toHaveLength(3)
  })

  test('checks foreign keys and CHECK constraints', async () => {
    expect((await post('book', { pages: 1, author_id: 77 })).status).toBe(400)
    expect((await post('book', { pages: 0, author_id: 1 })).status).toBe(400)
    expect((await send(world.url, 'DELETE /api/author/1/')).status).toBe(409)
    expect(await ids('book/?limit=100')).toHaveLength(12)
  })

  test.each(['section', 'folder'])('writes the positions of a tree (%s)', async (name) => {
    for (const parent_id of [null, 1, 1, 3]) expect((await post(name, { parent_id })).status).toBe(201)
    expect((await put(`${name}/3`, { parent_id: 2 })).status).toBe(200)
    const tree = world.dataSource.getTreeRepository<Section | Folder>(name === 'section' ? Section : Folder)
    const moved = await tree.findOneByOrFail({ id: 2 })
    expect((await tree.findDescendants(moved)).map(({ id }) => id).toSorted()).toEqual([2, 3, 4])
  })

  test('names the fields of errors', async () => {
    expect((await post('book', { pages: 1, isbn: '1' })).status).toBe(201)
    const taken = await post('book', { pages: 1, isbn: '1' })
    expect([taken.status, taken.json()]).toMatchObject([409, { errors: [{ field: 'isbn' }] }])
    expect((await post('book', { pages: 0 })).json()).toMatchObject({ errors: [{ field: 'pages' }] })
  })
})
