import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { keysOfTwo } from '../tables/keys'
import { leg } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** The two columns of a key that an entity declares itself. */
const shopAndArticle = [
  { name: 'shop', referencedColumnName: 'shop' },
  { name: 'article', referencedColumnName: 'article' },
]

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Price {
  @PrimaryColumn({ length: 20 }) shop!: string
  @PrimaryColumn({ length: 20 }) article!: string
  @Column({ type: 'decimal', precision: 8, scale: 2, default: 0 }) amount!: string
  @OneToMany(
    () => Offer,
    (offer) => offer.price,
  )
  offers!: Offer[]
}

/** Has a foreign key of two columns, which are not properties. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Offer {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Price, { nullable: true }) price!: Relation<Price> | null
  @Column({ default: 'x' }) text!: string
}

/** Has a foreign key of two columns, which are properties too. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Tag {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, nullable: true }) shop!: string | null
  @Column({ type: 'varchar', length: 20, nullable: true }) article!: string | null
  @ManyToOne(() => Price)
  @JoinColumn(shopAndArticle)
  price!: Relation<Price> | null
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Order {
  @PrimaryGeneratedColumn() id!: number
  @Column() buyer!: string
}

/** Has a key of a relation and a date. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Delivery {
  @PrimaryColumn() orderId!: number
  @ManyToOne(() => Order) order!: Relation<Order>
  @PrimaryColumn({ type: 'date' }) day!: string
  @Column({ default: 1 }) boxes!: number
}

/** Has a key that is a relation without a property for its column. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Invoice {
  @OneToOne(() => Order, { nullable: false })
  @JoinColumn()
  @PrimaryColumn({ name: 'orderId', type: 'int' })
  order!: Relation<Order>
  @Column({ default: false }) paid!: boolean
}

/** Refers to a key that is itself a foreign key. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Reminder {
  @PrimaryGeneratedColumn('uuid') id!: string
  @ManyToOne(() => Invoice, { nullable: true }) invoice!: Relation<Invoice> | null
}

/** Has a foreign key of two columns without a constraint. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Loose {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, nullable: true }) shop!: string | null
  @Column({ type: 'varchar', length: 20, nullable: true }) article!: string | null
  @ManyToOne(() => Price, { createForeignKeyConstraints: false })
  @JoinColumn(shopAndArticle)
  price!: Relation<Price> | null
}

/** Hides a relation whose columns are shown. */
@Entity()
@Resource({
  auth: permitAllAsUser1,
  exclude: ['price'],
  fields: { shop: { read: true }, article: { read: true } },
})
class Discreet {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, nullable: true }) shop!: string | null
  @Column({ type: 'varchar', length: 20, nullable: true }) article!: string | null
  @ManyToOne(() => Price)
  @JoinColumn(shopAndArticle)
  price!: Relation<Price> | null
}

/** Has a key column named `id`, which is also the name of the whole key in records. */
@Entity()
@Resource({ auth: permitAllAsUser1, rename: { id: 'number', order: 'of' } })
class Line {
  @PrimaryColumn() id!: number
  @PrimaryColumn({ length: 5 }) list!: string
  @ManyToOne(() => Order, { nullable: true }) order!: Relation<Order> | null
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Ticket {
  @PrimaryColumn({ type: 'uuid' }) id!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Visit {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Ticket) ticket!: Relation<Ticket>
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Ticket, Visit, Price, Offer, Tag, Order, Delivery, Invoice, Reminder, Line, Loose, Discreet],
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, ids, post, put } = apiOf(() => world.url)

test.each(keysOfTwo)('the key of the columns %j and %j is %j, and %j in a path', async (shop, article, id, segment) => {
  const made = await post('price', { shop, article, amount: '1.50' })
  expect([made.status, made.json()]).toEqual([201, { id, shop, article, amount: '1.50' }])
  expect(made.headers.location).toBe(`/api/price/${segment}/`)
  const path = `price/${segment}`
  expect((await get(`${path}/`)).json()).toEqual(made.json())
  expect((await put(path, made.json())).json()).toEqual(made.json())
  expect((await put(path, { amount: '2.00' })).json()).toMatchObject({ id, amount: '2.00' })
  expect((await put(path, { shop: 'else' })).json()).toMatchObject({ status: 400, errors: [{ field: 'shop' }] })
  expect(await ids(`price/?id=${encodeURIComponent(id)}`)).toEqual([id])
  expect(await ids(`price/?id__in=${encodeURIComponent(`"${id}","no,one"`)}`)).toEqual([id])
  expect((await post('price', { shop, article })).json()).toMatchObject({ status: 409 })
  expect((await send(world.url, `DELETE /api/${path}/`)).status).toBe(204)
  expect((await get(`${path}/`)).status).toBe(404)
})

test.each(['north', 'north,apple,x', ',apple', 'north,', 'north%2Capple%2C', 'NORTH,apple', '%5Cnorth,apple'])(
  'a path without a valid key of two columns gets 404: %s',
  async (segment) => {
    await post('price', { shop: 'north', article: 'apple' })
    expect((await get(`price/${segment}/`)).status).toBe(404)
  },
)

test('a long invalid key takes little time', async () => {
  const start = performance.now()
  expect((await get(`price/${'a'.repeat(15_000)}%5C/`)).status).toBe(404)
  expect((await post('offer', { price_id: `${'a'.repeat(100_000)}\\` })).status).toBe(400)
  // This took minutes when each character was tried as the beginning of a part.
  expect(performance.now() - start).toBeLessThan(5000)
})

test('a key of a million parts takes about as long as one long part', async () => {
  const timeOf = async (letter: string): Promise<number> => {
    const start = performance.now()
    expect((await post('offer', { price_id: letter.repeat(1_000_000) })).status).toBe(400)
    return performance.now() - start
  }
  const times: number[][] = []
  for (let round = 0; round < 5; round++) times.push([await timeOf('a'), await timeOf(',')])
  const [one = 0, many = 0] = [0, 1].map((index) => Math.min(...times.map((pair) => pair[index] ?? 0)))
  // This took more than 20 times as long when all parts were collected.
  expect(many / one).toBeLessThan(8)
})

test('Ordering: the columns of the key are the last sort keys', async () => {
  await post('price', { shop: 'east', article: 'b' })
  await post('price', { shop: 'east', article: 'a' })
  expect(await ids('price/?shop=east')).toEqual(['east,a', 'east,b'])
  expect(await ids('price/?shop=east&ordering=-id')).toEqual(['east,b', 'east,a'])
  expect(await ids('price/?shop=east&ordering=amount&limit=1&page=2')).toEqual(['east,b'])
  expect((await get('price/?id__lt=east,b')).json()).toMatchObject({ status: 400 })
})

test('a foreign key of two columns is one property, in the format of the key', async () => {
  await post('price', { shop: 'a,b', article: 'c' })
  const made = await post('offer', { price_id: 'a\\,b,c' })
  expect([made.status, made.json()]).toEqual([201, { id: 1, price_id: 'a\\,b,c', text: 'x' }])
  expect((await put('offer/1', made.json())).json()).toEqual(made.json())
  expect(await ids('offer/?price=a%5C,b,c')).toEqual([1])
  expect(await ids('offer/?price__shop=a,b&price__amount__gte=0')).toEqual([1])
  expect(await ids('price/?offers__text=x')).toEqual(['a\\,b,c'])
  expect(await ids('offer/?price__ne=a,b')).toEqual([1])
  expect((await put('offer/1', { price_id: 'east,a' })).json()).toMatchObject({ price_id: 'east,a' })
  expect((await put('offer/1', { price_id: null })).json()).toMatchObject({ price_id: null })
  expect(await ids('offer/?price__is=null')).toEqual([1])
  expect(await ids('offer/?price__is=not_null')).toEqual([])
  for (const price_id of ['no,one', 'alone', 5]) {
    expect((await post('offer', { price_id })).json()).toMatchObject({ status: 400, errors: [{ field: 'price_id' }] })
  }
})

test('a foreign key of two declared columns is written through these, and is shown in the format of the key too', async () => {
  const made = await post('tag', { shop: 'east', article: 'a' })
  expect([made.status, made.json()]).toEqual([201, { id: 1, shop: 'east', article: 'a', price_id: 'east,a' }])
  expect((await put('tag/1', made.json())).json()).toEqual(made.json())
  expect((await put('tag/1', { article: 'b' })).json()).toMatchObject({ article: 'b', price_id: 'east,b' })
  expect((await put('tag/1', { price_id: 'east,a' })).status).toBe(400)
  expect(await ids('tag/?price__amount=0&price=east,b')).toEqual([1])
  expect((await post('tag', { shop: 'nowhere', article: 'a' })).status).toBe(400)
})

test('Foreign keys, Comparisons with null: a foreign key of two columns without a constraint can be written column by column', async () => {
  await post('price', { shop: 'west', article: 'a' })
  expect((await post('loose', { shop: 'west', article: 'a' })).json()).toMatchObject({ id: 1, price_id: 'west,a' })
  const wrong = { status: 400, errors: [{ field: 'price_id', message: 'points to no price' }] }
  expect((await post('loose', { shop: 'west', article: 'none' })).json()).toMatchObject(wrong)
  expect((await put('loose/1', { article: 'none' })).json()).toMatchObject(wrong)
  expect((await put('loose/1', { article: null })).json()).toMatchObject({ shop: 'west', price_id: null })
  expect(await ids('loose?price__ne=east,a')).toEqual([])
  await put('loose/1', { article: 'a' })
  expect((await send(world.url, 'DELETE /api/price/west,a/')).status).toBe(204)
  expect((await put('loose/1', { shop: null })).json()).toMatchObject({ shop: null, article: 'a', price_id: null })
})

test('a key can contain a relation and a date', async () => {
  await post('order', { buyer: 'ann' })
  const made = await post('delivery', { order_id: 1, day: '2024-02-29' })
  expect([made.status, made.json()]).toEqual([201, { id: '1,2024-02-29', order_id: 1, day: '2024-02-29', boxes: 1 }])
  expect((await get('delivery/1,2024-02-29/')).json()).toEqual(made.json())
  expect((await get('delivery/01,2024-02-29/')).status).toBe(404)
  expect((await put('delivery/1,2024-02-29', { boxes: 3 })).json()).toMatchObject({ boxes: 3 })
  expect(await ids('delivery/?order__buyer=ann&day__gte=2024-02-29')).toEqual(['1,2024-02-29'])
  expect((await post('delivery', { order_id: 9, day: '2024-02-29' })).json()).toMatchObject({
    errors: [{ field: 'order_id', message: 'points to no order' }],
  })
})

test('a key can be a relation, and other records can refer to it', async () => {
  const made = await post('invoice', { order_id: 1 })
  expect([made.status, made.json()]).toEqual([201, { id: 1, order_id: 1, paid: false }])
  expect(made.headers.location).toBe('/api/invoice/1/')
  expect((await put('invoice/1', { paid: true })).json()).toEqual({ id: 1, order_id: 1, paid: true })
  expect(await ids('invoice/?order__buyer=ann')).toEqual([1])
  const reminder = (await post('reminder', { invoice_id: 1 })).json() as { id: string }
  expect(reminder).toEqual({ id: expect.stringMatching(/^[\da-f-]{36}$/), invoice_id: 1 })
  expect(await ids('reminder/?invoice__order__buyer=ann&invoice__paid=true')).toEqual([reminder.id])
  expect((await post('reminder', { invoice_id: 2 })).status).toBe(400)
})

test('Hidden fields: a hidden relation with shown columns is not followed', async () => {
  await post('price', { shop: 'far', article: 'a' })
  expect((await post('discreet', { shop: 'far', article: 'a' })).json()).toEqual({ id: 1, shop: 'far', article: 'a' })
  expect((await get('discreet?price__amount=0')).status).toBe(400)
})

test('Foreign keys: a foreign key to a text key is case-sensitive', async () => {
  await post('price', { shop: 'case', article: 'a' })
  expect((await post('offer', { price_id: 'CASE,a' })).json()).toMatchObject({ errors: [{ field: 'price_id' }] })
})

test('a key column named id must be renamed', async () => {
  const made = await post('line', { number: 7, list: 'a', of_id: 1 })
  expect([made.status, made.json()]).toEqual([201, { id: '7,a', number: 7, list: 'a', of_id: 1 }])
  expect(await ids('line?number=7&id=7,a&of__buyer=ann&ordering=-number')).toEqual(['7,a'])
  expect((await put('line/7,a', { of_id: null })).json()).toMatchObject({ of_id: null })
  expect((await get('line?order=1')).status).toBe(400)
})

const small = '01890a5d-ac96-774b-bcce-b302099a8057'
const capital = small.toUpperCase()

/** By driver: status of a path with a UUID in capitals, and the stored foreign key; undefined if it refers to no record. */
const ofCapitals: Readonly<Record<typeof leg.driver, { readonly path: number; readonly key: string | undefined }>> = {
  'better-sqlite3': { path: 404, key: undefined },
  sqlite: { path: 404, key: undefined },
  postgres: { path: 200, key: small },
  mariadb: { path: 200, key: small },
  // TypeORM stores UUIDs as text on MySQL, and the collation ignores case.
  mysql: { path: 200, key: capital },
}

test('a UUID in capital letters finds the same record except on SQLite, and is stored as it is on MySQL', async () => {
  const { path, key } = ofCapitals[leg.driver]
  expect((await post('ticket', { id: small })).json()).toEqual({ id: small })
  expect((await get(`ticket/${small}/`)).status).toBe(200)
  expect((await get(`ticket/${capital}/`)).status).toBe(path)
  const made = await post('visit', { ticket_id: capital })
  expect(made.status).toBe(key === undefined ? 400 : 201)
  if (key !== undefined) expect(made.json()).toMatchObject({ ticket_id: key })
})
