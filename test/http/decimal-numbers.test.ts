import { AfterLoad, Column, Entity, PrimaryGeneratedColumn, VirtualColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/**
 * Decimals that the driver or the entity returns as JavaScript numbers: through a type parser of pg, an option of mysql2, a virtual
 * column of another type, or an `@AfterLoad` listener.
 */

/** PostgreSQL's `numeric` without precision has more digits than a double. */
const free = isPostgres ? {} : { precision: 24, scale: 3 }

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Reading {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'decimal', precision: 24, scale: 2 }) price!: string
  @Column({ type: 'decimal', ...free }) amount!: string
  @VirtualColumn({ type: 'decimal', query: (alias) => `SELECT ${alias}.id + 0` }) count!: string
  @VirtualColumn({ type: 'decimal', query: (alias) => `SELECT ${alias}.id + 0.5e0` }) half!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Loaded {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'decimal', precision: 24, scale: 2 }) price!: unknown
  @Column({ type: 'decimal', ...free }) amount!: unknown

  @AfterLoad()
  load(): void {
    this.price = Number(this.price)
    this.amount = Number(this.amount)
  }
}

/** OID of `numeric`. */
const numeric = 1700

let world: World
let restore = (): void => undefined
const { get, post, put, ids } = apiOf(() => world.url)

beforeAll(async () => {
  world = await openWorld({
    entities: [Reading, Loaded],
    ...(isMariadb && { source: { extra: { decimalNumbers: true } } }),
  })
  if (!isPostgres) return
  const { types } = Object(world.dataSource.driver).postgres
  const parse = types.getTypeParser(numeric)
  types.setTypeParser(numeric, Number.parseFloat)
  restore = () => types.setTypeParser(numeric, parse)
})
afterAll(() => {
  restore()
  return world.close()
})

describe.each(['reading', 'loaded'])('a decimal that is read as a number is shown as a string: %s', (name) => {
  test.each([
    { price: '12.50', amount: '12345.678' },
    { price: '0.10', amount: '0.100' },
    { price: '-1234567890123.45', amount: '123456789012.345' },
  ])('%j', async (body) => {
    const shown = { ...body, amount: isPostgres ? body.amount.replace(/0+$/, '') : body.amount }
    const posted = await post(name, body)
    expect([posted.status, posted.json()]).toEqual([201, expect.objectContaining(shown)])
    const { id } = posted.json() as { id: number }
    const changed = await put(`${name}/${id}`, { price: '3.00' })
    expect([changed.status, changed.json()]).toEqual([200, expect.objectContaining({ ...shown, price: '3.00' })])
    expect((await get(`${name}/${id}`)).json()).toMatchObject({ ...shown, price: '3.00' })
    for (const query of [
      `amount=${body.amount}`,
      `id=${id}&ordering=price,amount`,
      `id=${id}&ordering=amount&after=`,
    ]) {
      expect(await ids(`${name}?${query}`)).toEqual([id])
    }
    expect(world.faults).toEqual([])
  })
})

test('a virtual column of type decimal can be computed as an integer or a float', async () => {
  const { id } = (await post('reading', { price: '1.00', amount: '1' })).json() as { id: number }
  expect((await get(`reading/${id}`)).json()).toMatchObject({ count: `${id}`, half: `${id + 0.5}` })
})
