import {
  AfterLoad,
  Column,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll, permitAllAsUser1 } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { KiB, longText } from '../support/texts'
import { VariedIndex } from '../world/vary'
import { openWorld, type World } from '../world/world'

/** The parameter `include` with unusual keys, names and sizes. */

/** Does not handle null: the transformer of a key need not. */
const prefixed = {
  to: (value: string) => (value.startsWith('k-') ? value : `k-${value}`),
  from: (value: string) => value.slice(2),
}

@Entity()
@Resource({ auth: permitAll })
class Shelf {
  @PrimaryColumn({ type: 'varchar', length: 20, transformer: prefixed }) id!: string
  @OneToMany(
    () => Book,
    (book) => book.shelf,
  )
  books!: Relation<Book>[]
}

/** Has fields with the names of parameters. */
@Entity()
@Resource({ auth: permitAll })
class Book {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') page!: number
  @Column({ type: 'int', name: 'or_column' }) or!: number
  @VariedIndex()
  @ManyToOne(
    () => Shelf,
    (shelf) => shelf.books,
    { nullable: true },
  )
  shelf!: Relation<Shelf> | null
}

/** Has a hidden column, which load listeners receive. */
@Entity()
@Resource({ auth: permitAll, exclude: ['pin'] })
class Card {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) pin!: string
  @Column({ length: 20 }) title!: string
  @VariedIndex()
  @ManyToOne(
    () => Card,
    (card) => card.copies,
    { nullable: true },
  )
  original!: Relation<Card> | null
  @OneToMany(
    () => Card,
    (card) => card.original,
  )
  copies!: Relation<Card>[]
  @AfterLoad() mark(): void {
    this.title = `${this.title}!`
  }
}

@Entity()
@Resource({ auth: permitAll })
class Text {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) body!: string
  @VariedIndex()
  @ManyToOne(
    () => Text,
    (text) => text.parts,
    { nullable: true },
  )
  whole!: Relation<Text> | null
  @OneToMany(
    () => Text,
    (text) => text.whole,
  )
  parts!: Relation<Text>[]
}

@Entity()
@Resource({ auth: permitAll })
class Street {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => House,
    (house) => house.street,
  )
  houses!: Relation<House>[]
}

/** Has a key of two columns, and a relation with the name that another one needs. */
@Entity()
@Resource({ auth: permitAll })
class House {
  @PrimaryColumn({ length: 10 }) block!: string
  @PrimaryColumn('int') number!: number
  @VariedIndex()
  @ManyToOne(
    () => Street,
    (street) => street.houses,
  )
  street!: Relation<Street>
  @OneToMany(
    () => Flat,
    (flat) => flat.house,
  )
  flats!: Relation<Flat>[]
  @OneToMany(
    () => Flat,
    (flat) => flat.second,
  )
  others!: Relation<Flat>[]
  @OneToMany(
    () => Flat,
    (flat) => flat.third,
  )
  others_next!: Relation<Flat>[]
}

@Entity()
@Resource({ auth: permitAll })
class Flat {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') street_next!: number
  @VariedIndex()
  @ManyToOne(
    () => House,
    (house) => house.flats,
    { nullable: true },
  )
  house!: Relation<House> | null
  @VariedIndex()
  @ManyToOne(
    () => House,
    (house) => house.others,
    { nullable: true },
  )
  second!: Relation<House> | null
  @ManyToOne(
    () => House,
    (house) => house.others_next,
    { nullable: true },
  )
  third!: Relation<House> | null
  @ManyToOne(() => Street, { nullable: true }) street!: Relation<Street> | null
}

/** Only its rule knows the user: the resource of the requests is public. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Secret {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) word!: string
}

@Entity()
@Resource({ auth: permitAll })
class Envelope {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Secret) secret!: Relation<Secret>
}

const pageBytes = 256 * KiB
const houseCount = 9000

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Shelf, Book, Card, Text, Street, House, Flat, Secret, Envelope],
    mount: { limits: { pageBytes } },
    seed: async (dataSource) => {
      const { manager } = dataSource
      const insert = (entity: new () => object, rows: readonly object[]) => insertRows(dataSource, entity, rows)
      await manager.insert(Shelf, [{ id: 'x' }, { id: 'y' }])
      await manager.insert(
        Book,
        [0, 1, 1, 1].map((page) => ({ page, or: page })),
      )
      await manager.query(`UPDATE book SET ${dataSource.driver.escape('shelfId')} = 'k-x' WHERE page = 1`)
      const pins = [100 * KiB, 100 * KiB, 100]
      for (const [index, length] of pins.entries()) {
        await manager.insert(Card, { pin: 'p'.repeat(length), title: `${index}`, original: index ? { id: 1 } : null })
      }
      await manager.insert(Text, { body: 't'.repeat(150 * KiB) })
      await manager.insert(Text, { body: '', whole: { id: 1 } })
      for (const whole of [2, 3, 3, 3]) await manager.insert(Text, { body: 't'.repeat(70 * KiB), whole: { id: whole } })
      await insert(
        Street,
        Array.from({ length: 10 }, (_, index) => ({ id: index + 1 })),
      )
      await insert(
        House,
        Array.from({ length: houseCount }, (_, number) => ({ block: 'a', number, street: { id: (number % 10) + 1 } })),
      )
      await manager.insert(Flat, { street_next: 5, house: { block: 'a', number: houseCount - 1 }, street: { id: 1 } })
      await manager.insert(Secret, { word: 'word' })
      await manager.insert(Envelope, { secret: { id: 1 } })
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

type Json = Readonly<Record<string, unknown>>

async function objects(path: string): Promise<readonly Json[]> {
  const reply = await get(path)
  if (reply.status !== 200) throw new Error(reply.text)
  return (reply.json() as { objects: readonly Json[] }).objects
}

test('the transformer of a key is not called for a missing record', async () => {
  expect(await objects('book/?include=shelf&limit=2')).toEqual([
    { id: 1, page: 0, or: 0, shelf_id: null, shelf: null },
    { id: 2, page: 1, or: 1, shelf_id: 'x', shelf: { id: 'x' } },
  ])
  expect(await objects('shelf/?include=books(fields:id,limit:5)')).toEqual([
    { id: 'x', books: [{ id: 2 }, { id: 3 }, { id: 4 }], books_next: '' },
    { id: 'y', books: [], books_next: '' },
  ])
})

test.each(['page:1', 'or:1', 'or(or:1,page:0)'])('the next path has the filter %s', async (filter) => {
  const path = `shelf/?id=x&include=books(fields:id,${filter},limit:1)`
  const [shelf] = await objects(path)
  const others = (await objects(path.replace('limit:1', 'limit:5')))[0]?.['books'] as readonly Json[]
  const next = String(shelf?.['books_next'])
  expect(next === '' ? [] : await objects(next.replace('/api/', ''))).toEqual(others.slice(1, 2))
})

test('the sizes of hidden columns do not affect responses', async () => {
  const original = { id: 1, title: '0!', original_id: null }
  expect(await objects('card/?include=original&fields=title')).toEqual([
    { id: 1, title: '0!', original: null },
    { id: 2, title: '1!', original },
    { id: 3, title: '2!', original },
  ])
  expect(await objects('card/?include=copies(include:original)&fields=id&limit=1')).toMatchObject([
    { id: 1, copies: [{ original }, { original }] },
  ])
})

test('a related record counts once for the size of a page, and does not turn a page into an error', async () => {
  const [part] = await objects('text/?id=2&include=whole')
  expect(Object(part?.['whole']).body).toHaveLength(150 * KiB)
  // The page ends at the limit. Its records and their related ones have more bytes than fit.
  const reply = await get('text/?include=whole(fields:whole)')
  expect([reply.status, Object(reply.json()).meta.next]).toEqual([200, expect.stringContaining('page=2')])
})

test('lists that together exceed the size limit are refused, also if each of them is smaller', async () => {
  const reply = await get('text/3/?include=parts(include:(whole(fields:id,include:parts)))')
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(`more than the ${pageBytes} bytes`)])
})

test('the paths of further records count for the size limit, because each repeats the filters', async () => {
  const houses = `houses(limit:1,fields:id,block__ne:${'%E2%82%AC'.repeat(1500)})`
  expect(await objects(`street/?limit=9&fields=id&include=${houses}`)).toHaveLength(9)
  const reply = await get(
    `street/?fields=id&include=houses(limit:3,fields:id,include:(street(fields:id,include:${houses})))`,
  )
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(`more than the ${pageBytes} bytes`)])
})

test('names and short values count for the size limit of lists, also those of records that to-one relations add', async () => {
  const path = 'street/?include=houses(limit:900,fields:(id,number)'
  expect(await objects(`${path})`)).toHaveLength(10)
  for (const request of [`${path},include:(street(fields:id)))`, 'street/?include=houses(limit:900)']) {
    const reply = await get(request)
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(`more than the ${pageBytes} bytes`)])
  }
})

test('a request may include the lists of more records than a statement can have keys', async () => {
  const streets = await objects('street/?include=houses(limit:1000,fields:id,include:flats(fields:id,count:exact))')
  const houses = streets.flatMap(({ houses: all }) => all as readonly Json[])
  expect(houses).toHaveLength(houseCount)
  expect(houses.filter(({ flats_total: total }) => total === 1)).toEqual([
    { id: `a,${houseCount - 1}`, flats: [{ id: 1 }], flats_next: '', flats_total: 1 },
  ])
})

test('only a list needs the name of its next path', async () => {
  const reply = await get('house/?include=others,others_next')
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('records have a field')])
  expect(await objects('flat/?include=street')).toEqual([
    expect.objectContaining({ street: { id: 1 }, street_next: 5 }),
  ])
})

test('whether an empty list of fields is refused does not depend on earlier requests', async () => {
  for (const [path, status] of [
    ['shelf/?include=books(fields:)', 400],
    ['shelf/?include=books', 200],
    ['shelf/?include=books(fields:)', 400],
  ] as const) {
    expect([path, (await get(path)).status]).toEqual([path, status])
  }
})

test('a response with records that only a user may see is private', async () => {
  expect((await get('envelope/')).headers['cache-control']).toBe('no-cache')
  for (const path of ['envelope/?include=secret', 'envelope/1/?include=secret']) {
    const { headers, text } = await get(path)
    expect([text, headers['cache-control']]).toEqual([expect.stringContaining('word'), 'private, no-cache'])
  }
})

test('the response to a write that is done is not an error, although its related records are too many', async () => {
  const path = 'text/3/?include=parts(include:(whole(fields:id,include:parts)))'
  const { status, headers, text } = await send(world.url, `PUT /api/${path}`, { body: { body: 'new' } })
  expect([status, JSON.parse(text)]).toEqual([200, { id: 3, body: 'new', whole_id: 2 }])
  expect(headers['etag']).toBe((await get('text/3/')).headers['etag'])
})

test('the limits of includes are those of the mount, also for a text that another mount has parsed', async () => {
  const path = 'shelf/?include=books(search:a%20b)'
  const strict = await openWorld({ entities: [Shelf, Book, Card], mount: { limits: { patternCost: 1 } } })
  try {
    const details = [await get(path), await send(strict.url, `GET /api/${path}`), await get(path)].map(
      ({ text }) => text,
    )
    expect(details[0]).toEqual(details[2])
    expect(details[1]).toContain('searches for more than 1 words')
  } finally {
    await strict.close()
  }
})
