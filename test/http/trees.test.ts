import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn, Tree, TreeChildren, TreeParent } from 'typeorm'
import { type MountOptions, Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Tree('closure-table')
@Resource({ auth: permitAllAsUser1, name: 'closure' })
class Closure {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @TreeParent() parent!: Closure | null
  @TreeChildren() children!: Closure[]
}

@Entity()
@Tree('materialized-path')
@Resource({ auth: permitAllAsUser1, name: 'path' })
class PathNode {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @TreeParent() parent!: PathNode | null
  @TreeChildren() children!: PathNode[]
}

@Entity()
@Tree('nested-set')
@Resource({ auth: permitAllAsUser1, name: 'nested' })
class Nested {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @TreeParent() parent!: Nested | null
  @TreeChildren() children!: Nested[]
}

/** Hides its parent, which can be written, and has a bigint key. */
@Entity()
@Tree('materialized-path')
@Resource({ auth: permitAllAsUser1, exclude: ['parent'] })
class Hidden {
  @PrimaryColumn({ type: 'bigint' }) id!: string
  @Column() name!: string
  @TreeParent() parent!: Hidden | null
  @TreeChildren() children!: Hidden[]
}

const trees = { closure: Closure, path: PathNode, nested: Nested }

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Closure, PathNode, Nested, Hidden] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)

describe.each(Object.keys(trees) as (keyof typeof trees)[])('a tree as %s', (name) => {
  const descendants = async (id: number): Promise<readonly string[]> => {
    const repository = world.dataSource.getTreeRepository<Closure | PathNode | Nested>(trees[name])
    const found = await repository.findDescendants(await repository.findOneByOrFail({ id }))
    return found.map((node) => node.name).toSorted()
  }

  test('nodes are stored with their positions, as TypeORM stores them', async () => {
    const root = (await post(name, { name: 'root' })).json()
    expect(root).toEqual({ id: 1, name: 'root', parent_id: null })
    for (const [child, parent_id] of Object.entries({ a: 1, b: 1, aa: 2, aaa: 4 })) {
      expect((await post(name, { name: child, parent_id })).json()).toMatchObject({ name: child, parent_id })
    }
    expect(await descendants(1)).toEqual(['a', 'aa', 'aaa', 'b', 'root'])
    expect(await descendants(2)).toEqual(['a', 'aa', 'aaa'])
    expect((await put(`${name}/1`, root)).json()).toEqual(root)
  })

  test('a node can be renamed, and is moved together with its descendants', async () => {
    expect((await put(`${name}/4`, { name: 'moved' })).json()).toEqual({ id: 4, name: 'moved', parent_id: 2 })
    expect((await put(`${name}/4`, { parent_id: 3 })).json()).toEqual({ id: 4, name: 'moved', parent_id: 3 })
    expect(await descendants(2)).toEqual(['a'])
    expect(await descendants(3)).toEqual(['aaa', 'b', 'moved'])
  })

  test.each([3, 4, 5])('a node cannot be moved below itself or its descendants: %i', async (parent_id) => {
    expect((await put(`${name}/3`, { parent_id })).json()).toMatchObject({
      status: 400,
      errors: [{ field: 'parent_id', message: `would make this ${name} its own ancestor` }],
    })
  })

  test('Foreign keys: a parent that does not exist is refused', async () => {
    expect((await post(name, { name: 'x', parent_id: 99 })).json()).toMatchObject({ errors: [{ field: 'parent_id' }] })
  })

  test('filters follow parent and children', async () => {
    const ids = async (query: string): Promise<unknown> =>
      ((await get(`${name}?${query}`)).json() as { objects: { id: number }[] }).objects.map(({ id }) => id)
    expect(await ids('parent__name=root')).toEqual([2, 3])
    expect(await ids('children__children__name=aaa')).toEqual([3])
    expect(await ids('parent__is=null')).toEqual([1])
  })

  test('a leaf can be deleted, and a node with children cannot', async () => {
    expect((await send(world.url, `DELETE /api/${name}/4/`)).status).toBe(409)
    expect(await descendants(3)).toEqual(['aaa', 'b', 'moved'])
    expect((await send(world.url, `DELETE /api/${name}/5/`)).status).toBe(204)
    expect(await descendants(3)).toEqual(['b', 'moved'])
  })
})

test('a node with a bigint key and a hidden parent cannot be moved below its descendants', async () => {
  expect((await post('hidden', { id: 1, name: 'a' })).json()).toEqual({ id: 1, name: 'a' })
  expect((await post('hidden', { id: 2, name: 'b', parent_id: 1 })).json()).toEqual({ id: 2, name: 'b' })
  expect((await post('hidden', { id: 2, name: 'c' })).status).toBe(409)
  expect((await put('hidden/2', { name: 'bb' })).json()).toEqual({ id: 2, name: 'bb' })
  const refused = (await put('hidden/1', { parent_id: 2 })).json()
  expect(refused).toMatchObject({ status: 400, detail: 'this would make this hidden its own ancestor' })
  expect((await get('hidden?children__id=2')).status).toBe(400)
})

test.each(['closure', 'path', 'nested'])('parallel writes keep the positions of a tree as %s correct', async (name) => {
  const made = await Promise.all(
    Array.from({ length: 10 }, (_, index) => post(name, { name: `p${index}`, parent_id: 1 })),
  )
  expect(made.map(({ status }) => status)).toEqual(made.map(() => 201))
  const ids = made.map((reply) => (reply.json() as { id: number }).id)
  const [first = 0, ...others] = ids
  const moved = await Promise.all(others.map((id) => put(`${name}/${id}`, { parent_id: first })))
  expect(moved.map(({ status }) => status)).toEqual(moved.map(() => 200))
  const repository = world.dataSource.getTreeRepository<Closure | PathNode | Nested>(trees[name as keyof typeof trees])
  const found = await repository.findDescendants(await repository.findOneByOrFail({ id: first }))
  expect(found.map(({ id }) => id).toSorted((one, other) => one - other)).toEqual(
    ids.toSorted((one, other) => one - other),
  )
})

test('of parallel requests that create the same key one succeeds', async () => {
  const made = await Promise.all([3, 4, 5, 6].map((index) => post('hidden', { id: 9, name: `t${index}` })))
  expect(made.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409])
})

test('a second root of a nested set is refused', async () => {
  const reply = await post('nested', { name: 'second' })
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('set a parent')])
})

if (isPostgres)
  describe.each<[level: string, mount: MountOptions]>([
    ['repeatable read', {}],
    ['serializable', {}],
    // A setting must not be the first statement, before the lock.
    ['serializable', { databaseSettings: () => ({ 'app.user_id': '1' }) }],
  ])('transactions with isolation level %s', (level, mount) => {
    let isolated: World
    beforeAll(async () => {
      const options = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`
      const entities = [Closure, PathNode, Nested, Hidden]
      isolated = await openWorld({ entities, source: { extra: { options } }, mount })
    })
    afterAll(async () => {
      await isolated.close()
      expect(isolated.faults).toEqual([])
    })
    const api = apiOf(() => isolated.url)

    test('parallel requests create a single root of a nested set', async () => {
      for (let round = 0; round < 5; round++) {
        const made = await Promise.all([1, 2, 3, 4, 5, 6].map((index) => api.post('nested', { name: `n${index}` })))
        expect(made.map(({ status }) => status).toSorted()).toEqual([201, 400, 400, 400, 400, 400])
        await isolated.sql('DELETE FROM "nested"')
      }
    })

    test.each([
      ['path', PathNode],
      ['closure', Closure],
    ] as const)('nodes of a tree as %s that are moved in parallel get the right ancestors', async (name, entity) => {
      const chain: number[] = []
      for (const parent of [undefined, 0, 0, 0, 0, 0, 0, 0, 0]) {
        const parent_id = parent === undefined ? null : (chain[parent] ?? null)
        chain.push(((await api.post(name, { name: 'n', parent_id })).json() as { id: number }).id)
      }
      const [root = 0, ...nodes] = chain
      // Each node is moved below the one before it: in any order, the result is one chain.
      const moves = nodes.slice(1).map((id, index) => api.put(`${name}/${id}`, { parent_id: nodes[index] }))
      expect((await Promise.all(moves)).map(({ status }) => status)).toEqual(moves.map(() => 200))
      const repository = isolated.dataSource.getTreeRepository<Closure | PathNode>(entity)
      for (const [index, id] of chain.entries()) {
        const node = await repository.findOneByOrFail({ id })
        expect((await repository.findAncestors(node)).map((ancestor) => ancestor.id).toSorted()).toEqual(
          [root, ...nodes].slice(0, index + 1).toSorted(),
        )
      }
    })
  })
