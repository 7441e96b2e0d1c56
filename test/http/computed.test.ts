import {
  Column,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  ViewColumn,
  ViewEntity,
  VirtualColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { idsOf, readPages } from '../support/pages'
import { isMariadb, sqlOf } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Has columns that cannot be written. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Box {
  @PrimaryGeneratedColumn() id!: number
  @Column() width!: number
  @Column() height!: number
  @Column({ asExpression: 'width * height', generatedType: 'STORED' }) area!: number
  @VirtualColumn({
    query: (alias) =>
      `SELECT COUNT(*) FROM ${isMariadb ? '`thing`' : '"thing"'} WHERE ${
        isMariadb ? '`thing`.`boxId`' : '"thing"."boxId"'
      } = ${alias}.id`,
    type: 'int',
  })
  count!: number
  @OneToMany(
    () => Thing,
    (thing) => thing.box,
  )
  things!: Relation<Thing>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Thing {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @ManyToOne(
    () => Box,
    (box) => box.things,
  )
  box!: Relation<Box>
}

@ViewEntity({
  expression: (dataSource) =>
    dataSource.createQueryBuilder().select('box.id', 'boxId').addSelect('box.width + 3', 'half').from(Box, 'box'),
})
@Resource({ auth: permitAllAsUser1 })
class BoxView {
  @ViewColumn() @PrimaryColumn({ type: 'int' }) boxId!: number
  @ViewColumn() @Column({ type: 'int' }) half!: number
}

const sizes = ['small', 'large', 'huge']

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Shirt {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'simple-enum', enum: sizes }) size!: string
  @VirtualColumn({ type: 'simple-enum', ...{ enum: sizes }, query: (alias) => `SELECT ${alias}.size` }) shown!: string
}

/** Declares an enumeration as text, without a length. */
@ViewEntity({ expression: sqlOf(`SELECT "id", "size" FROM "shirt"`) })
@Resource({ auth: permitAllAsUser1 })
class ShirtView {
  @ViewColumn() @PrimaryColumn({ type: 'int' }) id!: number
  @ViewColumn() @Column({ type: 'varchar' }) size!: string
  @VirtualColumn({ type: 'varchar', query: (alias) => `SELECT ${alias}.size` }) virtual!: string
}

/** Has a computed sum, which is a double on SQLite. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Taxed {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'decimal', precision: 12, scale: 2 }) price!: string
  @Column({ type: 'decimal', precision: 12, scale: 2, nullable: true }) tax!: string | null
  @VirtualColumn({ type: 'decimal', query: (alias) => `SELECT ${alias}.price + ${alias}.tax` }) sum!: string | null
  @Column({
    type: 'decimal',
    precision: 12,
    scale: 2,
    nullable: true,
    asExpression: 'price + tax',
    generatedType: 'STORED',
  })
  stored!: string | null
}

@ViewEntity({ expression: sqlOf(`SELECT "id", "price" + "tax" AS "sum" FROM "taxed"`) })
@Resource({ auth: permitAllAsUser1 })
class TaxedView {
  @ViewColumn() @PrimaryColumn({ type: 'int' }) id!: number
  @ViewColumn() @Column({ type: 'decimal', nullable: true }) sum!: string | null
}

/** Has computed quotients, which have more digits than the scale on SQLite. */
@Entity()
@Resource({ auth: permitAllAsUser1, aggregate: true })
class Quotient {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'decimal', precision: 12, scale: 2 }) price!: string
  @Column({ type: 'decimal', precision: 12, scale: 3, asExpression: 'price / 3.0', generatedType: 'STORED' })
  third!: string
  @Column({ type: 'decimal', precision: 12, scale: 2, asExpression: 'price + 0.2', generatedType: 'STORED' })
  taxed!: string
  @VirtualColumn({ type: 'decimal', query: (alias) => `SELECT ${alias}.price / 300.0` }) part!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Box, Thing, BoxView, Shirt, ShirtView, Taxed, TaxedView, Quotient] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, ids, post, put } = apiOf(() => world.url)

test('generated columns and virtual columns are read', async () => {
  const made = await post('box', { width: 2, height: 3 })
  expect([made.status, made.json()]).toEqual([201, { id: 1, width: 2, height: 3, area: 6, count: 0 }])
  await post('thing', { name: 'a', box_id: 1 })
  await post('thing', { name: 'b', box_id: 1 })
  expect((await put('box/1', { width: 4 })).json()).toEqual({ id: 1, width: 4, height: 3, area: 12, count: 2 })
  expect(await ids('box?area__gte=12&count=2&ordering=-count')).toEqual([1])
  expect(await ids('box?count__lt=2')).toEqual([])
  expect(await ids('thing?box__count=2')).toEqual([1, 2])
  for (const body of [{ area: 1 }, { count: 1 }]) expect((await put('box/1', body)).status).toBe(400)
  expect((await post('box', { width: 2, height: 3, area: 6 })).status).toBe(400)
})

test('a view can be read, but not written', async () => {
  expect((await get('boxview?half__gt=1')).json()).toMatchObject({ objects: [{ id: 1, boxId: 1, half: 7 }] })
  for (const request of ['POST /api/boxview/', 'PUT /api/boxview/1/', 'DELETE /api/boxview/1/']) {
    const reply = await send(world.url, request, { body: {} })
    expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS'])
  }
})

test('the virtual columns of a related record are null if there is no related record', async () => {
  const { id } = (await post('thing', { name: 'loose' })).json() as { id: number }
  expect(await ids('thing?box__count__is=null')).toEqual([id])
  expect(await ids('thing?box__count__lt=1')).toEqual([])
  expect(await ids('thing?box__count__ne=1')).toEqual([1, 2])
  expect(await ids('box?things__box__count__is=null')).toEqual([])
  const shelf = (await post('box', { width: 1, height: 1 })).json() as { id: number }
  expect(await ids('box?things__box__count__is=null')).toEqual([shelf.id])
  await post('thing', { name: 'boxed', box_id: shelf.id })
  expect(await ids('thing?ordering=box__count,name')).toEqual([id, id + 1, 1, 2])
  expect(await ids('thing?ordering=box__count__nullslast,name')).toEqual([id + 1, 1, 2, id])
  expect((await get(`thing/${id}?include=box`)).json()).toMatchObject({ box_id: null, box: null })
  expect((await get('thing/1?include=box')).json()).toMatchObject({ box: { count: 2 } })
})

test.each(['size', 'shown', '-shown'])(
  'pages by keyset of an enumeration have every record once: %s',
  async (ordering) => {
    const existing = await ids('shirt?limit=100')
    for (const size of existing.length > 0 ? [] : [...sizes, ...sizes]) await post('shirt', { size })
    const pages = await readPages(world.url, `/api/shirt/?ordering=${ordering}&limit=2&after=`)
    expect(idsOf(pages).toSorted()).toEqual([1, 2, 3, 4, 5, 6])
    expect((await ids('shirt?shown=huge')).toSorted()).toEqual([3, 6])
  },
)

test('computed texts may be values of an enumeration', async () => {
  const { id } = (await post('shirt', { size: 'huge' })).json() as { id: number }
  const record = { id, size: 'huge', virtual: 'huge' }
  for (const path of ['', '&size=huge', '&virtual=huge', '&size__like=hu%25', '&ordering=size,-virtual']) {
    expect((await get(`shirtview/?id=${id}${path}`)).json()).toMatchObject({ objects: [record] })
  }
  expect((await get(`shirtview/${id}/`)).json()).toEqual(record)
})

test('computed sums of decimals are found by the shown value, also if a double cannot represent it', async () => {
  const made = [
    { price: '0.10', tax: '0.20' },
    { price: '0.30', tax: '0.00' },
    { price: '1234567890.01', tax: '1234567890.02' },
    { price: '-1.10', tax: '-2.20' },
    { price: '0.10' },
    { price: '0.10', tax: '0.20' },
  ]
  for (const body of made) expect((await post('taxed', body)).status).toBe(201)
  const fields = [
    ['taxed', 'sum'],
    ['taxed', 'stored'],
    ['taxedview', 'sum'],
  ] as const
  for (const [resource, field] of fields) {
    const { objects } = (await get(`${resource}/?ordering=id`)).json() as { objects: Taxed[] }
    const sums = objects.map((one) => one[field] && Number(one[field]))
    expect(sums).toEqual([0.3, 0.3, 2469135780.03, -3.3, null, 0.3])
    for (const sum of sums.filter((one) => one !== null)) {
      const same = objects.filter((_, index) => sums[index] === sum).map(({ id }) => id)
      for (const filter of [`${field}=${sum}`, `${field}__in=${sum},7`, `${field}__lte=${sum}&${field}__gte=${sum}`]) {
        expect([filter, await ids(`${resource}?${filter}`)]).toEqual([filter, same])
      }
    }
    expect(await ids(`${resource}?${field}__is=null`)).toEqual([5])
    const pages = await readPages(world.url, `/api/${resource}/?ordering=-${field}&limit=1&after=`)
    expect(idsOf(pages)).toEqual([3, 1, 2, 6, 4, 5])
  }
})

test('computed decimals are found and grouped by the value that they show', async () => {
  for (const price of ['1.10', '0.10', '7.00', '1.10']) expect((await post('quotient', { price })).status).toBe(201)
  const { objects } = (await get('quotient?ordering=id')).json() as { objects: Record<string, string>[] }
  expect(objects[1]).toMatchObject({ taxed: '0.30' })
  for (const field of ['third', 'taxed', 'part']) {
    const found = { '': [[1, 4], [2], [3]], __lte: [[1, 2, 4], [2], [1, 2, 3, 4]], __gt: [[3], [1, 3, 4], []] }
    for (const [operator, expected] of Object.entries(found)) {
      for (const [index, keys] of expected.entries()) {
        const query = `${field}${operator}=${objects[index]?.[field]}`
        expect([query, await ids(`quotient?${query}&ordering=id`)]).toEqual([query, keys])
      }
    }
    const pages = await readPages(world.url, `/api/quotient/?ordering=${field},id&limit=1&after=`, 'next')
    expect(idsOf(pages)).toEqual([2, 1, 4, 3])
  }
  for (const field of ['third', 'taxed']) {
    const groups = (await get(`quotient?aggregate=count&by=${field}`)).json() as { objects: Record<string, unknown>[] }
    const expected = [1, 0, 2].map((index) => ({ [field]: objects[index]?.[field], count: index === 0 ? 2 : 1 }))
    expect(groups.objects).toEqual(expected)
    for (const bound of ['min', 'max']) {
      const query = `quotient?aggregate=${field}__${bound}&by=id`
      const sorted = (await get(`${query}&ordering=${field}__${bound},id`)).json() as { objects: { id: number }[] }
      expect(sorted.objects.map(({ id }) => id)).toEqual([2, 1, 4, 3])
      for (const [operator, keys] of [
        ['', [2]],
        ['__lte', [2]],
        ['__gt', [1, 3, 4]],
      ] as const) {
        const filtered = `${query}&${field}__${bound}${operator}=${objects[1]?.[field]}`
        const found = (await get(filtered)).json() as { objects: { id: number }[] }
        expect([filtered, found.objects.map(({ id }) => id)]).toEqual([filtered, keys])
      }
    }
  }
})
