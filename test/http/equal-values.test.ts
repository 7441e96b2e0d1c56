import { Column, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { type Principal, Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Texts that the database considers equal or stores as the same text: row scopes and owners do too (docs/reference/types.md). */

type Options = { readonly type: 'citext' | 'uuid' | 'varchar'; readonly length?: number }
/** Type of a text, and two texts that are equal. */
const [type, one, other]: readonly [Options, string, string] = isPostgres
  ? [{ type: 'citext' }, 'red', 'RED']
  : isMariadb
    ? [{ type: 'uuid' }, '01890a5d-ac96-774b-bcce-b302099a8057', '01890A5D-AC96-774B-BCCE-B302099A8057']
    : [{ type: 'varchar', length: 40 }, 'red', 'red']
const onServers = isPostgres || isMariadb ? test : () => undefined

/** The user whose id is in the header `X-User`. */
const auth: Rule = ({ context }) => ({ id: context.get('X-User') }) as Principal

@Entity()
@Resource({ auth })
class Team {
  @PrimaryColumn(type) id!: string
}

@Entity()
@Resource({ auth, bulk: true, scope: (me) => ({ team: me.id }) })
class Item {
  @PrimaryGeneratedColumn() id!: number
  @Column({ ...type, nullable: true }) team!: string
}

@Entity()
@Resource({ auth, bulk: true, scope: (me) => ({ code: me.id }) })
class Part {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'character', ...((isPostgres || isMariadb) && { type: 'char' }), length: 5 }) code!: string
}

@Entity()
@Resource({ auth, ownerField: { field: 'team', is: (me) => me.id } })
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 10, default: '' }) title!: string
  @ManyToOne(() => Team, { nullable: false }) team!: Relation<Team>
}

@Entity()
@Resource({ auth, bulk: true })
class Code {
  @PrimaryColumn({ type: 'character', ...((isPostgres || isMariadb) && { type: 'char' }), length: 5 }) id!: string
  @Column({ length: 10, default: '' }) title!: string
}

@Entity()
@Resource({ auth })
class Voucher {
  @PrimaryColumn(type) code!: string
  @Column({ length: 10, default: '' }) title!: string
}

@Entity()
@Resource({ auth })
class Invoice {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'decimal', precision: 8, scale: 2, update: false }) total!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Team, Item, Part, Draft, Code, Voucher, Invoice],
    columnOrder: 0,
    seed: ({ manager }) => manager.insert(Team, { id: one }).then(() => undefined),
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const ask = (user: string, line: string, body?: unknown) =>
  send(world.url, line.replace(' ', ' /api/'), { body, headers: { 'X-User': user } })

test('a text that equals the one of the row scope is accepted', async () => {
  expect((await ask(one, 'POST item/', { team: other })).status).toBe(201)
  expect((await ask(one, 'POST item/', [{ team: other }])).status).toBe(201)
  expect((await ask(other, 'PATCH item/1/', { team: one })).status).toBe(200)
})

onServers('spaces at the end of a fixed-length text make no difference to a row scope', async () => {
  expect((await ask('ab', 'POST part/', { code: 'ab  ' })).status).toBe(201)
  expect((await ask('ab   ', 'POST part/', { code: 'ab' })).status).toBe(201)
  expect((await ask('ab   ', 'POST part/', {})).status).toBe(201)
  expect((await ask('ab', 'PATCH part/1/', { code: 'ab ' })).status).toBe(200)
  expect((await ask('ab', 'POST part/', { code: ' ab' })).status).toBe(403)
})

test('an owner whose key is equal may change the record', async () => {
  const { id } = (await ask(one, 'POST draft/', {})).json() as { readonly id: number }
  expect((await ask(other, `PATCH draft/${id}/`, { title: 'changed' })).status).toBe(200)
})

onServers('spaces at the end of a key of fixed length make no difference', async () => {
  expect((await ask('', 'POST code/', { id: 'ab ' })).status).toBe(201)
  expect((await ask('', 'POST code/', [{ id: 'ac ' }, { id: 'ad  ' }])).status).toBe(201)
  expect((await ask('', 'POST code/?on_conflict=id', { id: 'ac  ', title: 'two' })).status).toBe(200)
  for (const path of ['code/ac/', 'code/ac%20/']) {
    expect((await ask('', `PATCH ${path}`, { id: 'ac ', title: 'three' })).status).toBe(200)
  }
  expect((await ask('', 'POST code/', { id: 'ab' })).status).toBe(409)
})

test('a new record at a path may repeat its key in an equal spelling', async () => {
  const options = { body: { id: other, title: 'new' }, headers: { 'If-None-Match': '*' } }
  expect((await send(world.url, `PUT /api/voucher/${one}/`, options)).status).toBe(201)
  expect((await ask('', `GET voucher/${one}/`)).json()).toMatchObject({ title: 'new' })
})

test('a decimal that cannot be changed may be sent back with other zeros', async () => {
  expect((await ask('', 'POST invoice/', { total: '4.50' })).status).toBe(201)
  expect((await ask('', 'PUT invoice/1/', { total: '4.5' })).status).toBe(200)
  expect((await ask('', 'PUT invoice/1/', { total: '004.500' })).status).toBe(200)
  expect((await ask('', 'PUT invoice/1/', { total: '4.05' })).status).toBe(400)
})
