import { Check, Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
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
  @ManyToOne(
    () => Author,
    ({ books }) => books,
  )
  author!: Relation<Author> | null
}

describe('a connection with other defaults', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities: [Author, Book],
      seed: async (dataSource) => {
        await dataSource.query('ALTER TABLE book ADD CONSTRAINT positive_pages CHECK (pages > 0)')
        await dataSource.getRepository(Author).insert([{}, {}, {}])
        const books = Array.from({ length: 12 }, (_, index) => ({ pages: 1, author: { id: (index % 2) + 1 } }))
        await dataSource.getRepository(Book).insert(books)
        await setOnce(dataSource, 'SET sql_select_limit = 2, foreign_key_checks = 0, check_constraint_checks = 0')
      },
      source: { poolSize: 1 },
    })
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })
  const { get, ids, post } = apiOf(() => world.url)

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
})
