import { Column, Entity, ManyToOne, OneToMany, PrimaryColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Nested writes of records that are their own parents. */

@Entity()
@Resource({ auth: permitAll, nested: ['children'] })
class Node {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 10, default: '' }) name!: string
  @ManyToOne(
    () => Node,
    ({ children }) => children,
    { nullable: true },
  )
  parent!: Relation<Node> | null
  @OneToMany(
    () => Node,
    ({ parent }) => parent,
  )
  children!: Relation<Node>[]
}

@Entity()
@Resource({ auth: permitAll, nested: ['children'] })
class Leaf {
  @PrimaryColumn() id!: number
  @ManyToOne(
    () => Leaf,
    ({ children }) => children,
    { nullable: true, onDelete: 'CASCADE' },
  )
  parent!: Relation<Leaf> | null
  @OneToMany(
    () => Leaf,
    ({ parent }) => parent,
  )
  children!: Relation<Leaf>[]
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Node, Leaf] })
  for (const id of [1, 2, 3]) expect((await post('node', { id })).status).toBe(201)
  for (const [id, parent_id] of [
    [1, 1],
    [2, 3],
    [3, 2],
  ]) {
    expect((await put(`node/${id}`, { parent_id })).status).toBe(200)
  }
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { ids, post, put } = apiOf(() => world.url)

test.each([
  ['node/1', { name: 'new', children: [] }, 'cannot delete the node that it also contains'],
  ['node/1', { name: 'new', children: [{ id: 1, name: 'newer' }] }, 'cannot change the same node twice'],
  ['node/1', { name: 'new', children: [{ id: 1, children: [] }] }, 'cannot change the same node twice'],
  ['node/2', { name: 'new', children: [{ id: 3, children: [] }] }, 'cannot delete the node that it also contains'],
])('Nested writes: a PUT cannot delete its own record, or change it twice: %s %j', async (path, body, detail) => {
  const reply = await put(path, body)
  expect([reply.status, reply.json()]).toEqual([
    409,
    expect.objectContaining({ detail: expect.stringContaining(detail) }),
  ])
  expect(await ids('node/?name=')).toEqual([1, 2, 3])
})

test('Nested writes: a record that is its own parent can be sent back', async () => {
  const reply = await put('node/1', { name: 'new', parent_id: 1, children: [{ id: 1 }] })
  expect([reply.status, reply.json()]).toEqual([200, { id: 1, name: 'new', parent_id: 1 }])
})

test('Nested writes: a PUT cannot delete its own record by a cascade of the database', async () => {
  expect((await post('leaf', { id: 1, children: [{ id: 2 }] })).status).toBe(201)
  expect((await put('leaf/1', { parent_id: 2 })).status).toBe(200)
  expect((await put('leaf/1', { children: [] })).status).toBe(409)
  expect(await ids('leaf/')).toEqual([1, 2])
})
