import { MaxLength } from 'class-validator'
import { ChildEntity, Column, type ColumnOptions, Entity, PrimaryGeneratedColumn, TableInheritance } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/**
 * Single-table inheritance: several classes declare the same column. TypeORM has one metadata for it, that of the first
 * declaration, which depends on the order of the columns. A class can restrict it further, and has validators of its own.
 */

const text: ColumnOptions = { type: 'varchar', length: 20, nullable: true }

@Entity()
@Resource({ auth: permitAll })
@TableInheritance({ column: { type: 'varchar', length: 20, name: 'kind' } })
class Paper {
  @PrimaryGeneratedColumn() id!: number
  @Column(text) label!: string | null
}

@ChildEntity('letter')
@Resource({ auth: permitAll })
class Letter extends Paper {
  @Column(text) secret!: string | null
  @Column(text) stamp!: string | null
  @Column(text) sent!: string | null
}

@ChildEntity('memo')
@Resource({ auth: permitAll })
class Memo extends Paper {
  @MaxLength(3) declare label: string | null
  @Column({ ...text, select: false }) secret!: string | null
  @Column({ ...text, insert: false, update: false }) stamp!: string | null
  @Column({ ...text, update: false }) sent!: string | null
}

/** Has the declarations of the class that it extends. */
@ChildEntity('note')
@Resource({ auth: permitAll })
class Note extends Memo {}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Paper, Letter, Memo, Note] })
  expect((await post('letter', { secret: 'l', sent: 'l' })).status).toBe(201)
  expect((await post('memo', { label: 'abc', secret: 'm', sent: 'm' })).status).toBe(201)
  expect((await post('note', { secret: 'n' })).status).toBe(201)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, post, put } = apiOf(() => world.url)

test.each([
  ['memo/2/', { id: 2, label: 'abc', stamp: null, sent: 'm' }],
  ['note/3/', { id: 3, label: null, stamp: null, sent: null }],
])('Hidden fields: %s shows the columns as its own class declares them', async (path, record) => {
  expect((await get(path)).json()).toEqual(record)
})

test('Hidden fields: a column that its own class hides cannot be filtered or sorted by', async () => {
  for (const query of ['secret=m', 'ordering=secret', 'secret__is=null']) {
    const hidden = await get(`memo/?${query}`)
    const unknown = await get(`memo/?${query.replace('secret', 'nothing')}`)
    expect([hidden.status, hidden.text.replaceAll('secret', 'nothing')]).toEqual([400, unknown.text])
  }
})

test.each([
  ['POST', { stamp: 'x' }, 'stamp'],
  ['PUT', { stamp: 'x' }, 'stamp'],
  ['PUT', { sent: 'x' }, 'sent'],
])('Read-only fields: a %s cannot set what its own class does not write: %j', async (method, body, field) => {
  const reply = await (method === 'POST' ? post('memo', body) : put('memo/2', body))
  expect([reply.status, reply.json()]).toMatchObject([400, { errors: [{ field }] }])
})

test.each(['memo', 'paper'])('Validators: those of the class of a record apply to a PUT of %s', async (resource) => {
  const reply = await put(`${resource}/2`, { label: 'abcd' })
  expect([reply.status, reply.json()]).toMatchObject([400, { errors: [{ field: 'label' }] }])
  expect((await put(`${resource}/1`, { label: 'abcd' })).status).toBe(resource === 'paper' ? 200 : 404)
})
