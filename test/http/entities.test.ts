import { randomBytes } from 'node:crypto'
import {
  Column,
  CreateDateColumn,
  DeleteDateColumn,
  Entity,
  EntitySchema,
  JoinColumn,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
  VersionColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Author {
  @PrimaryGeneratedColumn({ name: 'author_number' }) id!: number
  @Column({ name: 'full_name', length: 10 }) name!: string
  @OneToMany(
    () => Book,
    (book) => book.author,
  )
  books!: Book[]
}

/** Has a foreign key that is a property too, custom names, and dates that TypeORM sets. */
@Entity({ name: 'tbl_books' })
@Resource({ auth: permitAllAsUser1 })
class Book {
  @PrimaryGeneratedColumn() id!: number
  @Column({ name: 'book_title' }) title!: string
  @Column({ type: 'int', name: 'written_by', nullable: true }) authorId!: number | null
  @ManyToOne(
    () => Author,
    (author) => author.books,
  )
  @JoinColumn({ name: 'written_by' })
  author!: Author | null
  @OneToOne(() => Author)
  @JoinColumn()
  editor!: Author | null
  @Column() copies: number = 3
  @Column({ select: false, default: 'unseen' }) hint!: string
  @Column({ insert: false, nullable: true, type: 'varchar' }) later!: string | null
  @Column({ update: false, nullable: true, type: 'varchar' }) once!: string | null
  @CreateDateColumn() created!: Date
  @UpdateDateColumn() updated!: Date
  @VersionColumn() version!: number
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @DeleteDateColumn() deleted!: Date | null
  @ManyToOne(() => Draft) after!: Draft | null
}

abstract class Named {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1, name: 'thing' })
class NamedThing extends Named {}

/** In another schema, on databases that have schemas. */
@Entity({ name: `elsewhere_${randomBytes(4).toString('hex')}`, ...(isPostgres ? { schema: 'public' } : {}) })
@Resource({ auth: permitAllAsUser1 })
class Elsewhere {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) name!: string
  @ManyToOne(() => Elsewhere) next!: Elsewhere | null
}

const Planet = new EntitySchema<{ id: number; name: string; moons: number }>({
  name: 'Planet',
  columns: {
    id: { type: 'integer', primary: true, generated: true },
    name: { type: 'varchar', length: 20 },
    moons: { type: 'integer', default: 0 },
  },
})

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Author, Book, Draft, NamedThing, Elsewhere, Planet],
    mount: {
      resources: [{ entity: Planet, auth: permitAllAsUser1 }],
    },
  })
})
afterAll(() => world.close())

const { post, put, get: getReply } = apiOf(() => world.url)
const get = async (path: string): Promise<unknown> => (await getReply(path)).json()

test('tables and columns can have custom names, and a foreign key can be a property or not', async () => {
  expect((await post('author', { name: 'Ann' })).json()).toEqual({ id: 1, name: 'Ann' })
  const made = await post('book', { title: 'One', author_id: 1, editor_id: 1 })
  const date = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  expect(made.json()).toEqual({
    id: 1,
    title: 'One',
    author_id: 1,
    copies: 3,
    later: null,
    once: null,
    created: date,
    updated: date,
    version: 1,
    editor_id: 1,
  })
  expect(await get('book/?author=1&author__name=Ann&editor__name__like=A%25')).toMatchObject({ objects: [{ id: 1 }] })
  expect(await get('book/?ordering=-title')).toMatchObject({ objects: [{ id: 1 }] })
  expect((await put('book/1', { author_id: null, title: 'Two' })).json()).toMatchObject({
    author_id: null,
    title: 'Two',
  })
})

test('TypeORM sets version and update date', async () => {
  const before = (await get('book/1/')) as { version: number }
  expect((await put('book/1', { copies: 4 })).json()).toMatchObject({ version: before.version + 1, copies: 4 })
})

test.each([
  [{ hint: 'x' }, 200],
  [{ later: 'x' }, 400],
  [{ once: 'x' }, 400],
  [{ version: 99 }, 400],
  [{ created: '2020-01-01 00:00:00' }, 400],
  [{ updated: '2020-01-01 00:00:00' }, 400],
])('PUT %j on a column that is hidden, set by TypeORM or not updatable gets %i', async (body, status) => {
  expect((await put('book/1', body)).status).toBe(status)
})

test('POST refuses a column with insert: false, and accepts one with update: false', async () => {
  expect((await post('book', { title: 'x', later: 'x' })).status).toBe(400)
  expect((await post('book', { title: 'x', once: 'x' })).json()).toMatchObject({ once: 'x' })
  expect(JSON.stringify(await get('book/'))).not.toContain('unseen')
  expect((await send(world.url, 'GET /api/book/?hint=unseen')).status).toBe(400)
})

test('a soft-deleted record is not found by reads, joins and writes, and stays in the table', async () => {
  await post('draft', { text: 'first' })
  await post('draft', { text: 'second', after_id: 1 })
  expect(await get('draft/?after__text=first')).toMatchObject({ objects: [{ id: 2 }] })
  expect((await send(world.url, 'DELETE /api/draft/1/')).status).toBe(204)
  expect((await send(world.url, 'DELETE /api/draft/1/')).status).toBe(404)
  expect((await put('draft/1', { text: 'x' })).status).toBe(404)
  expect(await get('draft/')).toMatchObject({ objects: [{ id: 2, deleted: null }] })
  expect(await get('draft/?after__text=first')).toMatchObject({ objects: [] })
  expect(await world.sql('SELECT "text" FROM "draft" WHERE "id" = 1')).toEqual([{ text: 'first' }])
})

test('an EntitySchema can be registered by name', async () => {
  expect((await post('planet', { name: 'Mars' })).json()).toEqual({ id: 1, name: 'Mars', moons: 0 })
  expect((await put('planet/1', { moons: 2 })).json()).toEqual({ id: 1, name: 'Mars', moons: 2 })
  expect(await get('planet/?moons__gte=2')).toMatchObject({ meta: { model: 'planet' }, objects: [{ name: 'Mars' }] })
  expect((await post('planet', { name: 'x'.repeat(21) })).status).toBe(400)
})

test('an entity with an abstract base class can have its own name', async () => {
  expect((await post('thing', { name: 'x' })).json()).toEqual({ id: 1, name: 'x' })
  expect(await get('thing/?name=x')).toMatchObject({ meta: { model: 'thing' }, objects: [{ id: 1, name: 'x' }] })
})

test('a table can be in another schema', async () => {
  expect((await post('elsewhere', { name: 'a' })).json()).toEqual({ id: 1, name: 'a', next_id: null })
  expect((await post('elsewhere', { name: 'a' })).status).toBe(409)
  expect((await put('elsewhere/1', { next_id: 1 })).json()).toEqual({ id: 1, name: 'a', next_id: 1 })
  expect(await get('elsewhere/?next__name=a')).toMatchObject({ objects: [{ id: 1 }] })
  expect((await send(world.url, 'DELETE /api/elsewhere/1/')).status).toBe(isMariadb ? 409 : 204)
})
