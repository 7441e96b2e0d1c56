import {
  AfterLoad,
  Column,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  VirtualColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { idsOf, readPages } from '../support/pages'
import { KiB, longText } from '../support/texts'
import { openWorld, type World } from '../world/world'

/** The parameter `fields`, which selects the fields of records. */

class Place {
  @Column({ type: 'varchar', length: 20 }) city!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) zip!: string | null
}

@Entity()
@Resource({ auth: permitAll })
class Maker {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

@Entity()
@Resource({ auth: permitAll, exclude: ['secret'] })
class Part {
  @Column({ length: 20 }) name!: string
  @Column(longText) story!: string
  @PrimaryGeneratedColumn() code!: number
  @Column({ length: 20 }) secret!: string
  @Column(() => Place) place!: Place
  @ManyToOne(() => Maker) maker!: Relation<Maker> | null
  @Column({ type: 'decimal', precision: 8, scale: 2 }) price!: string
  @VirtualColumn({ type: 'int', query: (alias) => `(SELECT 40 + COUNT(*) FROM maker WHERE ${alias}.name IS NOT NULL)` })
  rank!: number
}

/** Has a key of two columns. */
@Entity()
@Resource({ auth: permitAll, paging: 'keyset' })
class Slot {
  @Column({ length: 20 }) label!: string
  @PrimaryColumn({ length: 20 }) shelf!: string
  @PrimaryColumn('int') number!: number
}

/** Has a listener that needs a field that requests do not select. */
@Entity()
@Resource({ auth: permitAll, exclude: ['pin'] })
class Card {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) pin!: string
  @Column({ length: 20 }) owner!: string
  @Column({ length: 20 }) title!: string
  @AfterLoad() addOwner(): void {
    this.title = `${this.title} of ${this.owner} ${this.pin.length}`
  }
}

/** Has a field with the name of the parameter. */
@Entity()
@Resource({ auth: permitAll })
class Farm {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') fields!: number
}

/** Size of the long text of each part, in bytes. */
const storyBytes = 2 * KiB

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Maker, Part, Slot, Card, Farm],
    mount: { limits: { pageBytes: 4 * storyBytes, itemBytes: 4 * storyBytes } },
    seed: async (dataSource) => {
      const [maker = null] = await dataSource.getRepository(Maker).save([{ name: 'acme' }])
      await dataSource.getRepository(Part).save(
        Array.from({ length: 9 }, (_, index) => ({
          name: `part ${index % 3}`,
          story: `${index}`.repeat(storyBytes),
          secret: 'hidden',
          place: { city: index % 2 === 0 ? 'Lima' : 'Quito', zip: index === 4 ? null : `z${index}` },
          maker: index === 5 ? null : maker,
          price: `${index}.50`,
        })),
      )
      const slots = ['a', 'b', 'c'].map((shelf, number) => ({ shelf, number, label: `${number} ${shelf}` }))
      await dataSource.getRepository(Slot).save(slots)
      await dataSource.getRepository(Card).save([{ pin: '1234', owner: 'ann', title: 'card' }])
      await dataSource.getRepository(Farm).save([{ fields: 2 }, { fields: 3 }])
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

type Json = Readonly<Record<string, unknown>>

async function json(path: string): Promise<Json> {
  const reply = await get(path)
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.json() as Json
}

const first = async (path: string): Promise<unknown> => ((await json(path))['objects'] as readonly unknown[])[0]

test.each<readonly [names: string, record: object]>([
  ['name', { id: 1, name: 'part 0' }],
  // The key is always there; the order is that of the record.
  ['name,id,code', { id: 1, name: 'part 0', code: 1 }],
  ['id', { id: 1 }],
  ['name,name', { id: 1, name: 'part 0' }],
  // A foreign key has two names.
  ['maker_id', { id: 1, maker_id: 1 }],
  ['maker', { id: 1, maker_id: 1 }],
  // An embedded entity, or one of its fields.
  ['place', { id: 1, place: { city: 'Lima', zip: 'z0' } }],
  ['place__zip', { id: 1, place: { zip: 'z0' } }],
  ['rank', { id: 1, rank: 41 }],
])('fields=%s selects the fields of a list and of an item', async (names, record) => {
  expect(await first(`part/?fields=${names}`)).toEqual(record)
  expect(await json(`part/1/?fields=${names}`)).toEqual(record)
})

test('every selection is a part of the whole record', async () => {
  const names = ['code', 'name', 'story', 'place__city', 'place__zip', 'maker_id', 'price', 'rank']
  const whole = await json('part/1/')
  for (let selection = 0; selection < 2 ** names.length; selection++) {
    const selected = names.filter((_, index) => selection & (1 << index))
    const record = await json(`part/1/?fields=id,${selected.join()}`.replace(/,$/, ''))
    const expected: Record<string, unknown> = { id: 1 }
    for (const name of Object.keys(whole)) {
      const within = selected.filter((one) => one.startsWith(`${name}__`)).map((one) => one.slice(name.length + 2))
      if (selected.includes(name)) expected[name] = whole[name]
      if (within.length > 0) {
        expected[name] = Object.fromEntries(within.map((field) => [field, (whole[name] as Json)[field]]))
      }
    }
    expect(JSON.stringify(record)).toEqual(JSON.stringify(sortedAs(expected, whole)))
  }
})

/** A record with its members, and those of embedded entities, in the order of the whole record. */
function sortedAs(record: Json, whole: Json): Json {
  return Object.fromEntries(
    Object.keys(whole)
      .filter((name) => name in record)
      .map((name) => [name, name === 'place' ? sortedAs(record[name] as Json, whole[name] as Json) : record[name]]),
  )
}

test('filters and orderings may use fields that are not selected', async () => {
  const { objects } = await json('part/?fields=name&place__city=Quito&maker__is=not_null&ordering=-price,rank')
  expect(objects).toEqual([
    { id: 8, name: 'part 1' },
    { id: 4, name: 'part 0' },
    { id: 2, name: 'part 1' },
  ])
})

test.each(['', '&after=', '&ordering=place__city', '&ordering=-maker__name&after='])(
  'the links of a list select the same fields: %s',
  async (other) => {
    const pages = await readPages<{ readonly id: number }>(world.url, `/api/part/?fields=price&limit=2${other}`)
    expect(pages.map(({ objects }) => objects.length)).toEqual([2, 2, 2, 2, 1])
    expect([...idsOf(pages)].sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    for (const { objects } of pages) for (const record of objects) expect(Object.keys(record)).toEqual(['id', 'price'])
  },
)

test('a key of two columns', async () => {
  const { objects, meta } = await json('slot/?fields=label&limit=1')
  expect(objects).toEqual([{ id: 'a,0', label: '0 a' }])
  const next = await send(world.url, `GET ${(meta as { readonly next: string }).next}`)
  expect((next.json() as Json)['objects']).toEqual([{ id: 'b,1', label: '1 b' }])
})

test('load listeners receive the whole entity', async () => {
  expect(await first('card/?fields=title')).toEqual({ id: 1, title: 'card of ann 4' })
  expect(await json('card/1/?fields=title')).toEqual({ id: 1, title: 'card of ann 4' })
})

test('a field named fields is a filter, and items do not have the parameter', async () => {
  expect((await json('farm/?fields=3'))['objects']).toEqual([{ id: 2, fields: 3 }])
  const reply = await get('farm/1/?fields=id')
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('fields is not a parameter')])
})

const fieldsOfPart = 'fields: id, code, name, story, place__city, place__zip, maker_id, price, rank'
test.each([
  ['', 'names "", which is not a field of part'],
  ['name,nam', 'names "nam", which is not a field of part'],
  // Hidden fields do not exist.
  ['secret', 'names "secret", which is not a field of part'],
  ['maker__name', 'names "maker__name", which is not a field of part'],
  ['plac', 'names "plac", which is not a field of part'],
  ['name&fields=price', 'is given twice'],
])('fields=%s is 400 for lists and items', async (names, message) => {
  for (const path of ['part/', 'part/1/']) {
    const reply = await get(`${path}?fields=${names}`)
    const { errors } = reply.json() as { errors: { field: string; message: string }[] }
    expect([reply.status, errors[0]?.field]).toEqual([400, 'fields'])
    expect(errors[0]?.message).toContain(message)
    const listed = errors[0]?.message.split('; ')[1]?.split(/[ ,]+/).toSorted()
    if (listed !== undefined) expect(listed).toEqual(fieldsOfPart.split(/[ ,]+/).toSorted())
  }
})

test('long values that are not selected do not end a page early, and are not read', async () => {
  expect(((await json('part/'))['objects'] as unknown[]).length).toBeLessThan(9)
  world.statements()
  expect((await json('part/?fields=name'))['objects']).toHaveLength(9)
  const statements = world.statements()
  expect(statements).toHaveLength(1)
  expect(statements.join()).not.toContain('story')
})

test('sizes of long texts that are only sorted by count for cursors', async () => {
  const pages = await readPages<{ readonly id: number }>(world.url, '/api/part/?fields=name&ordering=-story&after=')
  expect(idsOf(pages)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
  expect(pages.length).toBeGreaterThan(1)
})

test('a selection has the same statement for other values, and other ones after a change of the selection', async () => {
  await json('part/?fields=name,price&name=x')
  world.statements()
  await json('part/?fields=price,name&name=y')
  await json('part/?fields=price&name=y')
  await json('part/?name=y')
  expect(new Set(world.statements()).size).toBe(3)
})

describe('ETags', () => {
  const request = (path: string, headers: Record<string, string> = {}): Promise<Reply> =>
    send(world.url, `GET /api/${path}`, { headers })
  const tagOf = (reply: Reply): string => String(reply.headers.etag)

  test('a selection has its own ETag, which does not change with other fields', async () => {
    const [whole, selected] = [await request('part/3/'), await request('part/3/?fields=name')]
    expect(tagOf(selected)).not.toBe(tagOf(whole))
    expect((await request('part/3/?fields=name', { 'If-None-Match': tagOf(selected) })).status).toBe(304)
    expect((await request('part/3/?fields=name', { 'If-None-Match': tagOf(whole) })).status).toBe(200)
    await send(world.url, 'PUT /api/part/3/', { body: { price: '7.25' } })
    expect((await request('part/3/?fields=name', { 'If-None-Match': tagOf(selected) })).status).toBe(304)
    await send(world.url, 'PUT /api/part/3/', { body: { name: 'other' } })
    expect((await request('part/3/?fields=name', { 'If-None-Match': tagOf(selected) })).status).toBe(200)
  })

  test('If-Match is compared with the ETag of the whole record', async () => {
    const [whole, selected] = [tagOf(await request('part/2/')), tagOf(await request('part/2/?fields=name'))]
    const status = async (path: string, tag: string): Promise<number> =>
      (await request(path, { 'If-Match': tag })).status
    expect(await status('part/2/?fields=name', whole)).toBe(200)
    expect(await status('part/2/?fields=name', '*')).toBe(200)
    expect(await status('part/2/?fields=name', selected)).toBe(412)
    const write = { headers: { 'If-Match': selected }, body: { price: 1 } }
    expect((await send(world.url, 'PUT /api/part/2/', write)).status).toBe(412)
  })

  test('HEAD has the headers of GET', async () => {
    const [reply, head] = [
      await request('part/4/?fields=place'),
      await send(world.url, 'HEAD /api/part/4/?fields=place'),
    ]
    expect([head.status, tagOf(head), head.headers['content-length']]).toEqual([
      200,
      tagOf(reply),
      reply.headers['content-length'],
    ])
  })
})
