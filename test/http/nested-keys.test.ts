import {
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Nested writes of records with keys of other types, and of relations of other shapes. */

/** Has a generated UUID. */
@Entity()
@Resource({ auth: permitAll, nested: ['pages', 'readers'] })
class Book {
  @PrimaryGeneratedColumn('uuid') id!: string
  @Column({ length: 20 }) title!: string
  @OneToMany(
    () => Page,
    (page) => page.book,
  )
  pages!: Relation<Page>[]
  @ManyToMany(() => Reader)
  @JoinTable()
  readers!: Relation<Reader>[]
}

/** Is soft-deleted, and has a 64-bit key. */
@Entity()
@Resource({ auth: permitAll, readOnly: ['book'] })
class Page {
  @PrimaryGeneratedColumn({ type: isSqlite ? 'integer' : 'bigint' }) id!: string
  @Column('int') number!: number
  @DeleteDateColumn() deleted!: Date | null
  @ManyToOne(
    () => Book,
    (book) => book.pages,
    { nullable: false },
  )
  book!: Relation<Book>
}

/** Has a key of two columns. */
@Entity()
@Resource({ auth: permitAll })
class Reader {
  @PrimaryColumn({ type: 'varchar', length: 10 }) town!: string
  @PrimaryColumn('int') number!: number
}

/** Has a key of two columns. */
@Entity()
@Resource({ auth: permitAll, nested: ['rooms', 'flags'] })
class House {
  @PrimaryColumn({ type: 'varchar', length: 10 }) street!: string
  @PrimaryColumn('int') number!: number
  @Column({ length: 20, default: '' }) name!: string
  @OneToMany(
    () => Room,
    (room) => room.house,
  )
  rooms!: Relation<Room>[]
  @OneToMany(
    () => Flag,
    (flag) => flag.house,
  )
  flags!: Relation<Flag>[]
}

/** Has the key of the house in its own. */
@Entity()
@Resource({ auth: permitAll })
class Room {
  @PrimaryColumn({ type: 'varchar', length: 10 }) street!: string
  @PrimaryColumn('int') houseNumber!: number
  @PrimaryColumn('int') door!: number
  @Column('int') size!: number
  @ManyToOne(
    () => House,
    (house) => house.rooms,
  )
  @JoinColumn([
    { name: 'street', referencedColumnName: 'street' },
    { name: 'houseNumber', referencedColumnName: 'number' },
  ])
  house!: Relation<House>
}

/** Has a foreign key of two columns, and a key that clients choose. */
@Entity()
@Resource({ auth: permitAll })
class Flag {
  @PrimaryColumn({ type: 'varchar', length: 10 }) id!: string
  @Column('int') size!: number
  @ManyToOne(
    () => House,
    (house) => house.flags,
    { nullable: false },
  )
  house!: Relation<House>
}

@Entity()
@Resource({ auth: permitAll, nested: ['children', 'similar'] })
class Category {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @ManyToOne(
    () => Category,
    (category) => category.children,
    { nullable: true },
  )
  parent!: Relation<Category> | null
  @OneToMany(
    () => Category,
    (category) => category.parent,
  )
  children!: Relation<Category>[]
  @ManyToMany(() => Category)
  @JoinTable()
  similar!: Relation<Category>[]
}

@Entity()
@Tree('closure-table')
@Resource({ auth: permitAll, nested: ['children'] })
class Folder {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @TreeParent() parent!: Folder | null
  @TreeChildren() children!: Folder[]
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Book, Page, Reader, House, Room, Flag, Category, Folder] })
  for (const number of [1, 2, 3]) await request('POST reader/', { town: 'a,b', number })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const request = (line: string, body?: unknown): Promise<Reply> => send(world.url, line.replace(' ', ' /api/'), { body })
const show = async (path: string): Promise<unknown> => (await request(`GET ${path}`)).json()

/** Sends a write, which must succeed. */
async function write(line: string, body: unknown): Promise<Readonly<Record<string, unknown>>> {
  const reply = await request(line, body)
  expect([line, reply.status, reply.text]).toEqual([line, line.startsWith('POST') ? 201 : 200, expect.any(String)])
  return reply.json() as Readonly<Record<string, unknown>>
}

test('a UUID, a 64-bit key of the related records and links of two columns', async () => {
  const book = await write('POST book/?include=pages(ordering:number),readers(ordering:number)', {
    title: 'one',
    pages: [{ number: 1 }, { number: 2 }],
    reader_ids: ['a\\,b,1', 'a\\,b,2'],
  })
  const { id, pages } = book as { id: string; pages: readonly { id: unknown; book_id: string }[] }
  expect(book).toEqual({
    id: expect.stringMatching(/^[\da-f-]{36}$/),
    title: 'one',
    pages: [expect.objectContaining({ number: 1, book_id: id }), expect.objectContaining({ number: 2, book_id: id })],
    pages_next: '',
    readers: [1, 2].map((number) => ({ id: `a\\,b,${number}`, town: 'a,b', number })),
    readers_next: '',
  })
  const changed = { pages: [{ ...pages[1], number: 3 }, { number: 4 }], reader_ids: ['a\\,b,3', 'a\\,b,2'] }
  await write(`PUT book/${id}/`, changed)
  expect(
    await show(`book/${id}/?include=pages(ordering:number,fields:(number)),readers(ordering:number,fields:(number))`),
  ).toEqual({
    id,
    title: 'one',
    pages: [
      { id: pages[1]?.id, number: 3 },
      { id: expect.anything(), number: 4 },
    ],
    pages_next: '',
    readers: [2, 3].map((number) => ({ id: `a\\,b,${number}`, number })),
    readers_next: '',
  })
  // The deleted page is still stored.
  expect(await world.sql('SELECT "number" FROM "page" WHERE "deleted" IS NOT NULL')).toEqual([{ number: 1 }])
  const gone = await request(`PATCH book/${id}/`, { pages: [{ id: pages[0]?.id, number: 9 }] })
  expect([gone.status, gone.text]).toEqual([400, expect.stringContaining('pages[0].id points to no page of this book')])
})

test('a key that contains the key of the parent', async () => {
  const house = {
    street: 'Elm',
    number: 5,
    rooms: [
      { door: 1, size: 10 },
      { door: 2, size: 20, street: 'Elm' },
    ],
  }
  const { id } = await write('POST house/?include=rooms', house)
  expect(await show('room/?fields=size&ordering=door')).toMatchObject({
    objects: [
      { id: 'Elm,5,1', size: 10 },
      { id: 'Elm,5,2', size: 20 },
    ],
  })
  await write(`PUT house/${id}/`, {
    rooms: [
      { id: 'Elm,5,2', size: 21 },
      { door: 3, size: 30, houseNumber: 5 },
    ],
  })
  expect(await show('room/?fields=size&ordering=door')).toMatchObject({
    objects: [
      { id: 'Elm,5,2', size: 21 },
      { id: 'Elm,5,3', size: 30 },
    ],
  })
  for (const room of [
    { id: 'Elm,5,2', street: 'Oak' },
    { door: 4, size: 1, street: 'Oak' },
  ]) {
    const reply = await request(`PATCH house/${id}/`, { rooms: [room] })
    expect([room, reply.status, reply.text]).toEqual([room, 400, expect.stringContaining('"rooms[0].street"')])
  }
  const taken = await request(`PATCH house/${id}/`, { rooms: [{ door: 3, size: 1 }] })
  expect([taken.status, taken.text]).toEqual([409, expect.stringContaining('"rooms[0]')])
})

test('keys that clients choose: a record with an unknown key is created', async () => {
  await write('POST house/', { street: 'Ash', number: 1, flags: [{ id: 'x', size: 1, house_id: 'Ash,1' }] })
  await write('POST house/', { street: 'Ash', number: 2, flags: [{ id: 'other', size: 1 }] })
  await write('PUT house/Ash,1/', {
    flags: [
      { id: 'x', size: 2 },
      { id: 'y', size: 3 },
    ],
  })
  const flags = async (): Promise<unknown> => show('flag/?ordering=id')
  const expected = [
    { id: 'other', size: 1, house_id: 'Ash,2' },
    { id: 'x', size: 2, house_id: 'Ash,1' },
    { id: 'y', size: 3, house_id: 'Ash,1' },
  ]
  expect(await flags()).toMatchObject({ objects: expected })
  // The flag of the other house is not moved.
  expect((await request('PATCH house/Ash,1/', { flags: [{ id: 'other', size: 4 }] })).status).toBe(409)
  expect(await flags()).toMatchObject({ objects: expected })
})

test('a relation of an entity to itself', async () => {
  const body = { name: 'root', children: [{ name: 'a', children: [{ name: 'aa' }] }, { name: 'b' }] }
  const root = await write('POST category/?include=children(ordering:name,include:(children))', body)
  const { id, children } = root as {
    id: number
    children: readonly { id: number; children: readonly { id: number }[] }[]
  }
  expect(root).toMatchObject({
    name: 'root',
    parent_id: null,
    children: [{ name: 'a', parent_id: id, children: [{ name: 'aa' }] }, { name: 'b' }],
  })
  const deep = await request(`PATCH category/${id}/`, {
    children: [{ id: children[0]?.id, children: [{ id: children[0]?.children[0]?.id, children: [] }] }],
  })
  expect([deep.status, deep.text]).toEqual([
    400,
    expect.stringContaining('children[0].children[0].children is nested too deeply'),
  ])
  await write(`PUT category/${id}/`, { children: [{ ...children[0], name: 'A' }], similar_ids: [id, children[0]?.id] })
  expect(await show(`category/${id}/?include=children(include:(children)),similar(ordering:id)`)).toMatchObject({
    children: [{ name: 'A', children: [{ name: 'aa' }] }],
    similar: [{ id }, { id: children[0]?.id }],
  })
})

test('a refused deletion names the list at the second level from which the record is removed', async () => {
  const body = { name: 'top', children: [{ name: 'x' }, { name: 'y', children: [{ name: 'yy' }] }] }
  const top = await write('POST category/?include=children(ordering:name,include:(children))', body)
  const { id, children } = top as {
    id: number
    children: readonly { id: number; children: readonly { id: number }[] }[]
  }
  const [x, y] = children
  await write('POST category/', { name: 'yyy', parent_id: y?.children[0]?.id })
  const refused = await request(`PUT category/${id}/`, {
    children: [
      { id: x?.id, children: [] },
      { id: y?.id, children: [] },
    ],
  })
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('children[1].children: this category')])
})

test('a tree', async () => {
  const { id } = await write('POST folder/', {
    name: 'root',
    children: [{ name: 'a', children: [{ name: 'aa' }] }, { name: 'b' }],
  })
  const manager = world.dataSource.getTreeRepository(Folder)
  const names = async (): Promise<readonly string[]> => {
    const root = await manager.findOneByOrFail({ id: Number(id) })
    return (await manager.findDescendants(root)).map(({ name }) => name).toSorted()
  }
  expect(await names()).toEqual(['a', 'aa', 'b', 'root'])
  const [a, b] = await manager.find({ where: [{ name: 'a' }, { name: 'b' }], order: { name: 'ASC' } })
  const kept = await request(`PUT folder/${id}/`, { children: [{ id: b?.id }] })
  expect([kept.status, await names()]).toEqual([409, ['a', 'aa', 'b', 'root']])
  await write(`PUT folder/${id}/`, { children: [{ id: a?.id, name: 'A', children: [] }, { name: 'c' }] })
  expect(await names()).toEqual(['A', 'c', 'root'])
})
