import {
  BeforeUpdate,
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
import { permitAllAsUser1 } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/**
 * Keys that differ, but are the same JavaScript number. An application may let pg return integers as numbers, as TypeORM's option
 * `parseInt8` does.
 */

@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true, nested: ['lines'] })
class Parcel {
  @PrimaryColumn({ type: 'bigint' }) id!: string
  @Column({ length: 20 }) title!: string
  @Column({ type: 'bigint', nullable: true }) weight!: string | null
  @Column(isPostgres ? { type: 'bigint', array: true, nullable: true } : { type: 'simple-json', nullable: true })
  counts!: unknown
  @OneToMany(
    () => Line,
    (line) => line.parcel,
  )
  lines!: Line[]
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Line {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
  @ManyToOne(() => Parcel, { nullable: false }) parcel!: Relation<Parcel>
}

/** The weights that the listener of crates has received. */
const listenerWeights: unknown[] = []

/** Its records are entities of TypeORM, because there is a listener. */
@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Crate {
  @PrimaryColumn({ type: 'bigint' }) id!: string
  @Column({ length: 20 }) title!: string
  @Column({ type: 'bigint', nullable: true }) weight!: string | null

  @BeforeUpdate()
  noteWeight(): void {
    listenerWeights.push(this.weight)
  }
}

/** OIDs of `int8` and `int8[]`. */
const typeIds = [20, 1016]
const [even, odd] = ['9007199254740992', '9007199254740993']

let world: World
const restore: (() => void)[] = []
const { get, post, put, ids } = apiOf(() => world.url)
beforeAll(async () => {
  world = await openWorld({ entities: [Parcel, Line, Crate] })
  if (!isPostgres) return
  const { types } = Object(world.dataSource.driver).postgres
  for (const id of typeIds) {
    const parse = types.getTypeParser(id)
    restore.push(() => types.setTypeParser(id, parse))
    types.setTypeParser(id, (text: string) => (id === 20 ? Number(text) : parse(text).map(Number)))
  }
})
afterAll(() => {
  for (const one of restore) one()
  return world.close()
})

describe.each(['parcel', 'crate'])('%s', (name) => {
  test('each write is done to the record of its key', async () => {
    await post(name, { id: even, title: 'even' })
    const posted = await post(name, { id: odd, title: 'odd' })
    expect(posted.headers.location).toBe(`/api/${name}/${odd}/`)
    expect(posted.json()).toMatchObject({ id: odd, title: 'odd', weight: null })
    const patched = await send(world.url, `PATCH /api/${name}/?title=odd`, { body: { weight: odd } })
    expect(patched.json()).toEqual({ meta: { model: name, updated: 1 } })
    expect((await put(`${name}/${odd}`, { title: 'changed' })).json()).toMatchObject({
      id: odd,
      title: 'changed',
      weight: odd,
    })
    expect((await get(`${name}/${even}`)).json()).toMatchObject({ id: even, title: 'even', weight: null })
    await send(world.url, `DELETE /api/${name}/?title=changed`)
    expect(await ids(name)).toEqual([even])
  })
})

test('an array has all digits', async () => {
  const counts = ['9007199254740993', '-9007199254740993']
  expect((await post('parcel', { id: 7, title: 'counted', counts })).json()).toMatchObject({ id: 7, counts })
  expect((await get('parcel/7')).json()).toMatchObject({ counts })
})

test('related records refer to the key of their parent', async () => {
  const body = { id: '9007199254740995', title: 'nested', lines: [{ text: 'x' }] }
  const reply = await send(world.url, 'POST /api/parcel/?include=lines', { body })
  expect(reply.json()).toMatchObject({ lines: [{ text: 'x', parcel_id: '9007199254740995' }] })
})

test('listeners get the integers that TypeORM would give them, unless these are rounded', async () => {
  await post('crate', { id: 1, title: 'small', weight: 5 })
  listenerWeights.length = 0
  await put('crate/1', { title: 'one' })
  await put('crate/1', { weight: odd })
  expect(listenerWeights).toEqual([isMariadb ? '5' : 5, odd])
})
