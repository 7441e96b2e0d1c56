import { BeforeInsert, BeforeUpdate, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Decimals that a listener computes, with more digits than their column. What is shown is also found. */

/** A decimal of a library, such as decimal.js. */
const library = (text: string): unknown => ({ toString: () => text })

/** Values that the listener sets, by their names. */
const values: Readonly<Record<string, unknown>> = {
  sum: 0.1 + 0.2,
  product: 19.9 * 3,
  half: 1.005,
  negative: -2.675,
  carry: 9.999,
  tiny: 1e-7,
  negligible: -1e-7,
  large: 12345678.9 * 1.1,
  whole: 60,
  text: '0.30000000000000004',
  // pg sends an object as JSON.
  object: isPostgres ? '4.5678' : library('4.5678'),
}

@Entity()
@Resource({ auth: permitAllAsUser1, aggregate: true, bulk: true, readOnly: ['total', 'rounded', 'free'] })
class Line {
  @PrimaryGeneratedColumn() id!: number
  @Column({ nullable: true, type: 'varchar' }) computes!: string | null
  @Column({ nullable: true, type: 'decimal', precision: 10, scale: 2 }) price!: string | null
  @Column({ nullable: true, type: 'decimal', precision: 10, scale: 2 }) total!: unknown
  @Column({ nullable: true, type: 'numeric', precision: 10 }) rounded!: unknown
  @Column({ nullable: true, type: 'decimal', ...(isSqlite || isPostgres ? {} : { precision: 30, scale: 15 }) })
  free!: unknown

  @BeforeInsert()
  @BeforeUpdate()
  compute(): void {
    const computed = this.computes === null ? null : values[this.computes]
    this.total = computed ?? this.price
    this.rounded = this.total
    this.free = this.total
  }
}

let world: World
const { get, ids, post, put } = apiOf(() => world.url)

beforeAll(async () => {
  world = await openWorld({ entities: [Line] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

interface Shown {
  readonly id: number
  readonly total: string
  readonly rounded: string
  readonly free: string
}

describe.each([
  ['sum', '0.30', '0'],
  ['product', '59.70', '60'],
  ['half', '1.01', '1'],
  ['negative', '-2.68', '-3'],
  ['carry', '10.00', '10'],
  ['tiny', '0.00', '0'],
  ['negligible', '0.00', '0'],
  ['large', '13580246.79', '13580247'],
  ['whole', '60.00', '60'],
  ['text', '0.30', '0'],
  ['object', '4.57', '5'],
])('a decimal that a listener computes is stored with the digits of its column: %s', (computes, total, rounded) => {
  const expectFound = async ({ id, free }: Shown): Promise<void> => {
    for (const [field, value] of Object.entries({ total, rounded, free })) {
      for (const filter of [
        `${field}=${value}`,
        `${field}__in=${value},7`,
        `${field}__lte=${value}&${field}__gte=${value}`,
      ]) {
        expect([filter, await ids(`line?${filter}&id=${id}`)]).toEqual([filter, [id]])
      }
      for (const filter of [`${field}__lt=${value}`, `${field}__gt=${value}`, `${field}__ne=${value}`]) {
        expect([filter, await ids(`line?${filter}&id=${id}`)]).toEqual([filter, []])
      }
    }
  }

  test('POST', async () => {
    const posted = await post('line', { computes })
    expect([posted.status, posted.json()]).toEqual([201, expect.objectContaining({ total, rounded })])
    await expectFound(posted.json() as Shown)
  })

  test('POST of an array', async () => {
    const posted = await post('line', [{ computes }, { computes }])
    const { objects } = posted.json() as { objects: { id: number }[] }
    expect([posted.status, objects.length]).toEqual([201, 2])
    for (const { id } of objects) await expectFound((await get(`line/${id}`)).json() as Shown)
  })

  test('PUT', async () => {
    const { id } = (await post('line', { price: '7.00' })).json() as Shown
    const changed = await put(`line/${id}`, { computes })
    expect([changed.status, changed.json()]).toEqual([200, expect.objectContaining({ total, rounded })])
    await expectFound(changed.json() as Shown)
  })

  test('groups and counts of distinct values', async () => {
    const price = Number(total) === 0 ? '0' : total
    const made = [await post('line', { computes }), await post('line', { price })]
    const found = made.map((response) => (response.json() as Shown).id).join()
    const groups = await get(`line?id__in=${found}&aggregate=count&by=total`)
    expect(groups.json()).toMatchObject({ objects: [{ total, count: 2 }] })
    const distinct = await get(`line?id__in=${found}&aggregate=total__count_distinct`)
    expect(distinct.json()).toMatchObject({ objects: [{ total__count_distinct: 1 }] })
  })
})
