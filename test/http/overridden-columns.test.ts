import { Column, type ColumnOptions, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/**
 * Classes with tables of their own, and embedded entities, that restrict a column of the class that they extend. TypeORM
 * uses the options of the declaration that comes first, which is that of the class that they extend.
 */

const text: ColumnOptions = { type: 'varchar', length: 20, default: 'd' }

abstract class Base {
  @PrimaryGeneratedColumn() id!: number
  @Column(text) secret!: string
  @Column(text) stamp!: string
  @Column(text) sent!: string
}

@Entity()
@Resource({ auth: permitAll })
class Open extends Base {}

@Entity()
@Resource({ auth: permitAll })
class Closed extends Base {
  @Column({ ...text, select: false }) declare secret: string
  @Column({ ...text, insert: false, update: false }) declare stamp: string
  @Column({ ...text, update: false }) declare sent: string
}

/** Has the declarations of the class that it extends. */
@Entity()
@Resource({ auth: permitAll })
class Further extends Closed {}

class Address {
  @Column(text) secret!: string
  @Column(text) stamp!: string
  @Column(text) sent!: string
}

class ClosedAddress extends Address {
  @Column({ ...text, select: false }) declare secret: string
  @Column({ ...text, insert: false, update: false }) declare stamp: string
  @Column({ ...text, update: false }) declare sent: string
}

@Entity()
@Resource({ auth: permitAll })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column(() => Address) home!: Address
  @Column(() => ClosedAddress) work!: ClosedAddress
}

let world: World
beforeAll(async () => {
  // Another order of the columns may be one in which TypeORM's metadata has the restrictions.
  world = await openWorld({ entities: [Open, Closed, Further, Person], columnOrder: 0 })
  const values = { secret: 's', sent: 't' }
  for (const name of ['open', 'closed', 'further']) expect((await post(name, values)).status).toBe(201)
  expect((await post('person', { home: values, work: values })).status).toBe(201)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, post, put } = apiOf(() => world.url)

test.each([
  ['open/1/', { id: 1, secret: 's', stamp: 'd', sent: 't' }],
  ['closed/1/', { id: 1, stamp: 'd', sent: 't' }],
  ['further/1/', { id: 1, stamp: 'd', sent: 't' }],
  ['person/1/', { id: 1, home: { secret: 's', stamp: 'd', sent: 't' }, work: { stamp: 'd', sent: 't' } }],
])('Hidden fields: %s shows the columns as the last declaration says', async (path, record) => {
  expect((await get(path)).json()).toEqual(record)
})

test.each([
  ['closed', 'secret'],
  ['further', 'secret'],
  ['person', 'work__secret'],
])('Hidden fields: %s cannot be filtered or sorted by %s', async (name, field) => {
  const other = field.replace('secret', 'nothing')
  for (const query of ['secret=s', 'ordering=secret', 'secret__is=null']) {
    const hidden = await get(`${name}/?${query.replace('secret', field)}`)
    const unknown = await get(`${name}/?${query.replace('secret', other)}`)
    expect([hidden.status, hidden.text.replaceAll(field, other)]).toEqual([400, unknown.text])
  }
})

test.each([
  ['POST', 'closed', { stamp: 'x' }, 'stamp'],
  ['PUT', 'closed', { stamp: 'x' }, 'stamp'],
  ['PUT', 'closed', { sent: 'x' }, 'sent'],
  ['PUT', 'further', { sent: 'x' }, 'sent'],
  ['POST', 'person', { work: { stamp: 'x' } }, 'work__stamp'],
  ['PUT', 'person', { work: { sent: 'x' } }, 'work__sent'],
])('Read-only fields: a %s of %s cannot contain %j', async (method, name, body, field) => {
  const reply = await (method === 'POST' ? post(name, body) : put(`${name}/1`, body))
  expect([reply.status, reply.json()]).toMatchObject([400, { errors: [{ field }] }])
})
