import {
  type DataSource,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { isMariadb, isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Chains of records that `onDelete: 'CASCADE'` deletes together with the first record. */

@Entity()
@Resource({ auth: permitAll })
class Link {
  @PrimaryColumn() id!: number
  @ManyToOne(() => Link, { onDelete: 'CASCADE' }) previous!: Relation<Link> | null
}

@Entity()
@Tree('closure-table')
@Resource({ auth: permitAll })
class Node {
  @PrimaryGeneratedColumn() id!: number
  @TreeParent({ onDelete: 'CASCADE' }) parent!: Relation<Node> | null
  @TreeChildren() children!: Relation<Node>[]
}

/** Lengths of chains: one that every database can delete, and one that SQLite, MariaDB and MySQL cannot. */
const short = 15
const long = isMariadb ? 17 : 1005

async function seed(dataSource: DataSource): Promise<void> {
  for (const [first, length] of [
    [1, short],
    [1001, long],
  ] as const) {
    const rows = Array.from({ length }, (_, index) => ({
      id: first + index,
      previous: index === 0 ? null : { id: first + index - 1 },
    }))
    await insertRows(dataSource, Link, rows)
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Link, Node], seed })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, post } = apiOf(() => world.url)
const remove = (path: string) => send(world.url, `DELETE /api/${path}/`)
const count = async (query: string): Promise<unknown> =>
  ((await get(`${query}&count=exact&limit=0`)).json() as { meta: { total: unknown } }).meta.total

test('deleting a record deletes the chain of records that refer to it', async () => {
  expect((await remove('link/1')).status).toBe(204)
  expect(await count('link/?id__lt=1000')).toBe(0)
})

if (!isPostgres)
  test('deleting a record with a longer chain than the database supports is refused with 409', async () => {
    const reply = await remove('link/1001')
    expect([reply.status, reply.json()]).toMatchObject([
      409,
      { detail: expect.stringContaining('more levels of records') },
    ])
    expect(await count('link/?id__gt=1000')).toBe(long)
    expect((await remove(`link/${1000 + long - 2}`)).status).toBe(204)
  })

test('a node of a closure table has at most 1,000 ancestors', async () => {
  // The rows of a chain that was created node by node.
  const numbers = Array.from({ length: 1001 }, (_, index) => index + 1)
  const insert = (into: string, rows: readonly string[]): Promise<unknown> =>
    world.sql(`INSERT INTO ${into} VALUES ${rows.join(', ')}`)
  await insert(
    '"node" ("id", "parentId")',
    numbers.map((id) => `(${id}, ${id === 1 ? 'NULL' : id - 1})`),
  )
  await insert(
    '"node_closure" ("id_ancestor", "id_descendant")',
    numbers.map((id) => `(${id}, 1001)`),
  )
  await insert(
    '"node_closure" ("id_ancestor", "id_descendant")',
    numbers.slice(1).map((id) => `(${id - 1}, 1000)`),
  )
  if (isPostgres) await world.sql(`SELECT setval('node_id_seq', 1001)`)
  expect((await post('node', { parent_id: 1000 })).status).toBe(201)
  const refused = await post('node', { parent_id: 1001 })
  expect([refused.status, refused.json()]).toMatchObject([
    400,
    { errors: [{ field: 'parent_id', message: 'would give this node more than 1000 ancestors' }] },
  ])
  expect(await count('node/?id__gt=1002')).toBe(0)
})

if (isSqlite)
  test('a chain of 600 nodes of a closure table is deleted within seconds', async () => {
    const chain = 'WITH RECURSIVE n(id) AS (SELECT 2001 UNION ALL SELECT id + 1 FROM n WHERE id < 2600)'
    await world.sql(`${chain} INSERT INTO node (id, "parentId") SELECT id, nullif(id - 1, 2000) FROM n`)
    await world.sql(`${chain} INSERT INTO node_closure SELECT a.id, d.id FROM n a JOIN n d ON a.id <= d.id`)
    const start = performance.now()
    expect((await remove('node/2001')).status).toBe(204)
    expect(performance.now() - start).toBeLessThan(4000)
    expect(await count('node/?id__gt=2000')).toBe(0)
  })
