import {
  BeforeUpdate,
  Column,
  type DataSource,
  type Driver,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  Tree,
  TreeChildren,
  TreeParent,
  UpdateDateColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Tree('materialized-path')
@Resource({ auth: permitAllAsUser1, name: 'word' })
class TreeWord {
  @PrimaryColumn({ type: 'varchar', length: 20 }) code!: string
  @TreeParent({ onDelete: 'SET NULL' }) parent!: TreeWord | null
  @TreeChildren() children!: TreeWord[]
}

@Entity()
@Tree('nested-set')
@Resource({ auth: permitAllAsUser1, name: 'dated' })
class TreeDated {
  @PrimaryGeneratedColumn() id!: number
  @UpdateDateColumn({ precision: 6 }) updated!: Date
  @TreeParent() parent!: TreeDated | null
  @TreeChildren() children!: TreeDated[]
}

/** Its key shares a column with the key of its parent, so that it is never null. */
@Entity()
@Tree('nested-set')
@Resource({ auth: permitAllAsUser1, name: 'shared' })
class TreeShared {
  @PrimaryColumn({ type: 'varchar', length: 10 }) tenant!: string
  @PrimaryColumn() number!: number
  @TreeParent()
  @JoinColumn([
    { name: 'tenant', referencedColumnName: 'tenant' },
    { name: 'parent_number', referencedColumnName: 'number' },
  ])
  parent!: TreeShared | null
  @TreeChildren() children!: TreeShared[]
}

/** Has a listener that moves it below the node that it names. */
@Entity()
@Tree('closure-table')
@Resource({ auth: permitAllAsUser1, name: 'observed' })
class TreeObserved {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int', nullable: true }) wish!: number | null
  @TreeParent() parent!: TreeObserved | null
  @TreeChildren() children!: TreeObserved[]
  @BeforeUpdate()
  move(): void {
    if (this.wish) this.parent = Object.assign(new TreeObserved(), { id: this.wish })
  }
}

/** Has case-sensitive keys, also on databases where the column of paths is case-insensitive by default. */
@Entity()
@Tree('materialized-path')
@Resource({ auth: permitAllAsUser1, name: 'cased' })
class TreeCased {
  @PrimaryColumn({ type: 'varchar', length: 20, ...(isMariadb && { collation: 'utf8mb4_bin' }) }) id!: string
  @TreeParent() parent!: TreeCased | null
  @TreeChildren() children!: TreeCased[]
}

/** A code whose node is deleted before one with this code is inserted, as by another request. */
const replacedCode = 'replaced'

@EventSubscriber()
class DeletesReplaced implements EntitySubscriberInterface<Coded> {
  async beforeInsert({ entity, metadata, manager }: InsertEvent<Coded>): Promise<void> {
    if (entity?.code === replacedCode) await manager.delete(metadata.target, { code: replacedCode })
  }
}

/** Has no `@TreeParent`. */
@Entity()
@Tree('adjacency-list')
@Resource({ auth: permitAllAsUser1 })
class TreeLess {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => TreeLess, { nullable: true }) parent!: TreeLess | null
}

interface Coded {
  id: number
  code: string
}

/** Declares a tree whose parent keys refer to a writable column. */
function declareCoded(type: 'closure-table' | 'materialized-path' | 'nested-set', cascades = false): new () => Coded {
  const name = `${type.replace(/-.*/, '')}${cascades ? 'cascade' : ''}`
  @Entity(`tree_coded_${name}`)
  @Tree(type)
  @Resource({ auth: permitAllAsUser1, name })
  class TreeCoded {
    @PrimaryGeneratedColumn() id!: number
    @Column({ type: 'varchar', length: 20, unique: true, nullable: true }) code!: string
    @TreeParent((cascades ? { onUpdate: 'CASCADE' } : {}) as object)
    @JoinColumn({ name: 'parentCode', referencedColumnName: 'code' })
    parent!: TreeCoded | null
    @TreeChildren() children!: TreeCoded[]
  }
  Object.defineProperty(TreeCoded, 'name', { value: `TreeCoded${name}` })
  return TreeCoded
}

const coded = {
  closure: declareCoded('closure-table'),
  materialized: declareCoded('materialized-path'),
  nested: declareCoded('nested-set'),
}
const materializedCascade = declareCoded('materialized-path', true)

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [
      TreeWord,
      TreeDated,
      TreeShared,
      TreeObserved,
      TreeCased,
      TreeLess,
      ...Object.values(coded),
      materializedCascade,
    ],
    source: { subscribers: [DeletesReplaced] },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)
const descendants = async (type: new () => { id: number }, id: number): Promise<readonly number[]> => {
  const repository = world.dataSource.getTreeRepository(type)
  const found = await repository.findDescendants(await repository.findOneByOrFail({ id }))
  return found.map((node) => node.id).toSorted((one, other) => one - other)
}

test.each(['a.b', 'a%', 'a_b', 'a\\b'])('a key that would make paths ambiguous is refused: %s', async (code) => {
  const reply = await post('word', { code })
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('materialized path')])
  expect((await get('word')).json()).toMatchObject({ objects: [] })
})

test('a node cannot be deleted if its children would become roots', async () => {
  expect((await post('word', { code: 'root' })).status).toBe(201)
  expect((await post('word', { code: 'leaf', parent_id: 'root' })).status).toBe(201)
  const reply = await send(world.url, 'DELETE /api/word/root/')
  expect([reply.status, reply.text]).toEqual([409, expect.stringContaining('it has children')])
  expect((await put('word/leaf', { parent_id: null })).status).toBe(200)
  expect((await send(world.url, 'DELETE /api/word/root/')).status).toBe(204)
})

test('moving a node changes only the beginning of the paths of its descendants', async () => {
  for (const [code, parent_id] of Object.entries({ 1: null, 11: '1', 2: null })) {
    expect((await post('word', { code, parent_id })).status).toBe(201)
  }
  expect((await put('word/1', { parent_id: '2' })).status).toBe(200)
  expect((await put('word/11', { parent_id: null })).status).toBe(200)
  const repository = world.dataSource.getTreeRepository(TreeWord)
  const found = await repository.findDescendants(await repository.findOneByOrFail({ code: '2' }))
  expect(found.map(({ code }) => code).toSorted()).toEqual(['1', '2'])
})

test('paths are matched case-sensitively, whatever the collation of the column is', async () => {
  for (const id of ['r', 'b', 'B']) expect((await post('cased', { id })).status).toBe(201)
  for (const [id, parent_id] of [
    ['x', 'b'],
    ['y', 'B'],
  ])
    expect((await post('cased', { id, parent_id })).status).toBe(201)
  expect((await put('cased/b', { parent_id: 'r' })).status).toBe(200)
  const rows = await world.sql('SELECT id, mpath FROM "tree_cased"')
  expect(new Map(rows.map(({ id, mpath }) => [id, mpath]))).toEqual(
    new Map([
      ['r', 'r.'],
      ['b', 'r.b.'],
      ['B', 'B.'],
      ['x', 'r.b.x.'],
      ['y', 'B.y.'],
    ]),
  )
})

test('nodes of a nested set that are only renumbered keep their other columns, including the update date', async () => {
  const made = async (parent_id: number | null): Promise<unknown> => (await post('dated', { parent_id })).json()
  const before = [await made(null), await made(1), await made(2)]
  const added = await made(1)
  const { objects } = (await get('dated')).json() as { objects: unknown[] }
  expect(objects).toEqual([...before, added])
  expect((await put('dated/3', { parent_id: 1 })).status).toBe(200)
  expect((await get('dated/2')).json()).toEqual(before[1])
  expect(await descendants(TreeDated, 2)).toEqual([2])
  expect(await descendants(TreeDated, 1)).toEqual([1, 2, 3, 4])
})

test('a parent that a listener sets is checked and stored like one in a request', async () => {
  for (const parent_id of [null, 1, 2, 1]) expect((await post('observed', { parent_id })).status).toBe(201)
  expect((await put('observed/2', { wish: 4 })).json()).toMatchObject({ parent_id: 4 })
  expect(await descendants(TreeObserved, 4)).toEqual([2, 3, 4])
  const refused = await put('observed/4', { wish: 3 })
  expect(refused.json()).toMatchObject({ status: 400, errors: [{ field: 'parent_id' }] })
  expect(await descendants(TreeObserved, 4)).toEqual([2, 3, 4])
})

test('a move below a node that is already its own ancestor is refused, and the request ends', async () => {
  await world.sql('UPDATE "tree_observed" SET "parentId" = 3 WHERE "id" = 2')
  expect((await post('observed', { parent_id: 1 })).status).toBe(201)
  const refused = await put('observed/5', { parent_id: 3 })
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('more than 1000')])
})

const codesBelow = async (type: new () => Coded, code: string): Promise<readonly string[]> => {
  const repository = world.dataSource.getTreeRepository(type)
  const found = await repository.findDescendants(await repository.findOneByOrFail({ code }))
  return found.map((node) => node.code).toSorted()
}

test.each(Object.entries(coded))(
  'positions are correct after a change of the column that parent keys refer to: %s',
  async (name, type) => {
    expect((await post(name, { code: 'root' })).status).toBe(201)
    const { id } = (await post(name, { code: 'a', parent_id: 'root' })).json() as Coded
    expect((await put(`${name}/${id}`, { code: 'b' })).json()).toMatchObject({ code: 'b', parent_id: 'root' })
    expect((await post(name, { code: 'leaf', parent_id: 'b' })).status).toBe(201)
    expect((await post(name, { code: 'a', parent_id: 'root' })).status).toBe(201)
    expect(await codesBelow(type, 'root')).toEqual(['a', 'b', 'leaf', 'root'])
    expect(await codesBelow(type, 'b')).toEqual(['b', 'leaf'])
    expect(await codesBelow(type, 'a')).toEqual(['a'])
    // The foreign key of its child restricts the change.
    expect((await put(`${name}/${id}`, { code: 'c' })).status).toBe(409)
    expect(await codesBelow(type, 'b')).toEqual(['b', 'leaf'])
  },
)

test('paths are updated when the database updates a foreign key (ON UPDATE CASCADE)', async () => {
  const name = 'materializedcascade'
  expect((await post(name, { code: 'root' })).status).toBe(201)
  const { id } = (await post(name, { code: 'a', parent_id: 'root' })).json() as Coded
  for (const code of ['x', 'y']) expect((await post(name, { code, parent_id: 'a' })).status).toBe(201)
  const reply = await put(`${name}/${id}`, { code: 'b' })
  // MySQL and MariaDB do not support ON UPDATE CASCADE within one table.
  expect(reply.status).toBe(isMariadb ? 409 : 200)
  expect(await codesBelow(materializedCascade, isMariadb ? 'a' : 'b')).toEqual([isMariadb ? 'a' : 'b', 'x', 'y'])
})

test.each(Object.keys(coded))('a node cannot refer to itself by its new code: %s', async (name) => {
  const { objects } = (await get(`${name}?code=leaf`)).json() as { objects: Coded[] }
  const self = { code: 'self', parent_id: 'self' }
  expect((await post(name, self)).status).toBe(400)
  expect((await put(`${name}/${objects[0]?.id}`, self)).status).toBe(400)
  expect((await get(`${name}?code=leaf`)).json()).toMatchObject({ objects })
})

test.each(Object.keys(coded))('a new node cannot refer to itself by the code of a deleted one: %s', async (name) => {
  expect((await post(name, { code: replacedCode, parent_id: 'leaf' })).status).toBe(201)
  const refused = await post(name, { code: replacedCode, parent_id: replacedCode })
  expect(refused.json()).toMatchObject({ status: 400, errors: [{ field: 'parent_id' }] })
  expect((await get(`${name}?code=${replacedCode}`)).json()).toMatchObject({ objects: [{ parent_id: 'leaf' }] })
})

test('a node of a materialized path is refused if the column that parent keys refer to is null', async () => {
  const reply = await post('materialized', { parent_id: 'root' })
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('materialized path')])
  expect((await post('closure', { parent_id: 'root' })).status).toBe(201)
})

/** Sets the isolation level READ COMMITTED, with which MySQL and MariaDB lock nothing in an empty table. */
async function readCommitted({ driver }: DataSource): Promise<void> {
  if (!isMariadb) return
  const sql = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'
  interface Connection {
    query(sql: string, done: (error: unknown) => void): void
  }
  const { pool } = driver as Driver & {
    pool: {
      on(event: 'connection', listener: (connection: Connection) => void): void
      getConnection(done: (error: unknown, connection: Connection & { release(): void }) => void): void
    }
  }
  pool.on('connection', (connection) => connection.query(sql, () => {}))
  // The connection that has created the tables is still in the pool.
  await new Promise<void>((resolve) => {
    pool.getConnection((_, connection) => {
      connection.query(sql, () => {
        connection.release()
        resolve()
      })
    })
  })
}

test('a nested set has a single root if its key shares a column with the key of the parent', async () => {
  expect((await post('shared', { tenant: 't', number: 1 })).status).toBe(201)
  expect((await post('shared', { tenant: 't', number: 2 })).status).toBe(400)
})

test('parallel requests create a single root in an empty nested set', async () => {
  const empty = await openWorld({ entities: [TreeDated], seed: readCommitted })
  for (let round = 0; round < 10; round += 1) {
    const made = await Promise.all(Array.from({ length: 6 }, () => send(empty.url, 'POST /api/dated/', { body: {} })))
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 400, 400, 400, 400, 400])
    expect(await empty.sql('SELECT "nsleft", "nsright" FROM "tree_dated"')).toEqual([{ nsleft: 1, nsright: 2 }])
    await empty.sql('DELETE FROM "tree_dated"')
  }
  await empty.close()
  expect(empty.faults).toEqual([])
})

/** Inserts a chain of nodes into a closure table, the first one as a root. @returns the keys of the first and the last */
async function insertChain(first: number, length: number): Promise<readonly [first: number, last: number]> {
  const { ancestorColumns, descendantColumns, tableName } =
    world.dataSource.getMetadata(TreeObserved).closureJunctionTable
  const columns = [...ancestorColumns, ...descendantColumns].map(({ databaseName }) => `"${databaseName}"`).join(', ')
  const ids = Array.from({ length }, (_, index) => first + index)
  const rows = ids.map((id) => `(${id}, ${id === first ? 'NULL' : id - 1})`)
  await world.sql(`INSERT INTO "tree_observed" ("id", "parentId") VALUES ${rows.join(', ')}`)
  await world.sql(
    `INSERT INTO "${tableName}" (${columns}) SELECT above.id, below.id FROM "tree_observed" above
     JOIN "tree_observed" below ON above.id <= below.id WHERE above.id >= ${first} AND below.id >= ${first}`,
  )
  return [first, first + length - 1]
}

test('a moved node and its descendants can have at most 1000 ancestors, and a move can change at most 100000 rows', async () => {
  const [, deep] = await insertChain(10_000, 940)
  const [top, bottom] = await insertChain(20_000, 60)
  expect((await put(`observed/${top}`, { parent_id: deep })).status).toBe(200)
  expect(await descendants(TreeObserved, deep)).toHaveLength(61)
  expect((await put(`observed/${top}`, { parent_id: null })).status).toBe(200)
  expect((await post('observed', { parent_id: bottom })).status).toBe(201)
  const { id } = (await post('observed', { parent_id: bottom })).json() as { id: number }
  expect((await post('observed', { parent_id: id })).status).toBe(201)
  const refused = (await put(`observed/${top}`, { parent_id: deep })).json()
  expect(refused).toMatchObject({
    status: 400,
    errors: [{ field: 'parent_id', message: 'would give this observed or its descendants more than 1000 ancestors' }],
  })
  expect((await get(`observed/${top}`)).json()).toMatchObject({ parent_id: null })
  expect(await descendants(TreeObserved, deep)).toEqual([deep])
  const [wide] = await insertChain(30_000, 120)
  expect((await put(`observed/${wide}`, { parent_id: deep })).json()).toMatchObject({
    errors: [{ field: 'parent_id', message: 'would change more than 100000 rows of the closure table' }],
  })
  expect(await descendants(TreeObserved, deep)).toEqual([deep])
})

test('an adjacency list without @TreeParent is written like other entities', async () => {
  expect((await post('treeless', {})).json()).toEqual({ id: 1, parent_id: null })
  expect((await post('treeless', { parent_id: 1 })).json()).toEqual({ id: 2, parent_id: 1 })
  expect((await put('treeless/2', { parent_id: null })).json()).toEqual({ id: 2, parent_id: null })
  expect((await send(world.url, 'DELETE /api/treeless/2/')).status).toBe(204)
})
