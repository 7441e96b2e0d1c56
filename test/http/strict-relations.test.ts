import { Column, Entity, ManyToOne, OneToMany, PrimaryColumn, type Relation } from 'typeorm'
import { adminRule, hashPassword, Resource, type Rule, userRule } from 'typeorm-resources'
import { basic, send } from '../client'
import { User } from '../world/entities'
import { openWorld, type World } from '../world/world'

/** Access rules of related resources, and the status for a known user whom a rule refuses. */

const isGuarded: Rule = userRule({ read: 'public' })

@Entity()
@Resource({ auth: isGuarded })
class Project {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
  @OneToMany(
    () => Contract,
    ({ project }) => project,
  )
  contracts!: Relation<Contract>[]
  @ManyToOne(() => Budget, { nullable: true }) budget!: Relation<Budget> | null
}

/** Only administrators read contracts. */
@Entity()
@Resource({ auth: adminRule() })
class Contract {
  @PrimaryColumn() id!: number
  @Column({ type: 'integer' }) price!: number
  @ManyToOne(
    () => Project,
    ({ contracts }) => contracts,
    { nullable: false },
  )
  project!: Relation<Project>
}

/** Has a permission, so that its access rule counts in any case. */
@Entity()
@Resource({ auth: adminRule(), may: { delete: false } })
class Budget {
  @PrimaryColumn() id!: number
  @Column({ type: 'integer' }) total!: number
}

/** Everybody reads what is published, and users what is theirs. */
@Entity()
@Resource({ auth: userRule({ read: 'public' }), scope: (me) => [{ published: true }, { author: me.id }] })
class Article {
  @PrimaryColumn() id!: number
  @Column({ type: 'boolean', default: false }) published!: boolean
  @ManyToOne(() => User, { nullable: false }) author!: Relation<User>
}

const open = (mount: object): Promise<World> =>
  openWorld({
    entities: [User, Project, Contract, Budget, Article],
    mount,
    seed: async (dataSource) => {
      const save = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
        dataSource.getRepository<object>(entity).save([...rows])
      await save(User, [
        { username: 'ann', password: await hashPassword('ann') },
        { username: 'root', password: await hashPassword('root'), admin: true },
      ])
      await save(Budget, [{ id: 1, total: 500 }])
      await save(Project, [
        { id: 1, name: 'Atlas', budget: { id: 1 } },
        { id: 2, name: 'Apollo' },
      ])
      await save(Article, [
        { id: 1, published: true, author: { id: 2 } },
        { id: 2, author: { id: 1 } },
        { id: 3, author: { id: 2 } },
      ])
      await save(Contract, [{ id: 1, price: 100, project: { id: 1 } }])
    },
  })

let worlds: { readonly usual: World; readonly strict: World }
beforeAll(async () => {
  worlds = { usual: await open({}), strict: await open({ strictRelations: true, forbidden: 403 }) }
})
afterAll(async () => {
  for (const world of Object.values(worlds)) {
    await world.close()
    expect(world.faults).toEqual([])
  }
})

test.each([
  ['usual', 'ann', 'contracts__price__gte=100', [1]],
  ['strict', 'ann', 'contracts__price__gte=100', []],
  ['strict', undefined, 'contracts__price__gte=100', []],
  ['strict', 'root', 'contracts__price__gte=100', [1]],
  ['strict', 'ann', 'contracts__id__is=null', [1, 2]],
  ['strict', 'ann', 'not=(contracts__price:100)', [1, 2]],
  ['usual', 'ann', 'budget__total__gte=500', []],
  ['usual', 'root', 'budget__total__gte=500', [1]],
  ['usual', undefined, 'ordering=-budget__total,-id', [2, 1]],
  ['usual', 'root', 'ordering=-budget__total,-id', [1, 2]],
] as const)(
  'Access through relations: with %s relations, %s finds with %s the projects %j',
  async (site, as, query, ids) => {
    const reply = await send(worlds[site].url, `GET /api/project/?${query}`, { as })
    const { objects } = reply.json() as { readonly objects: readonly { readonly id: number }[] }
    expect(objects.map(({ id }) => id)).toEqual(ids)
  },
)

test.each([
  ['usual', 'root', 201],
  ['usual', 'ann', 400],
  ['strict', 'ann', 400],
] as const)('Access through relations: with %s relations, a reference by %s is %d', async (site, as, status) => {
  const { url, sql } = worlds[site]
  const body = { id: 9, name: 'x', budget_id: 1 }
  expect((await send(url, 'POST /api/project/', { as, body })).status).toBe(status)
  expect(await sql('SELECT * FROM "project" WHERE "id" = 9')).toHaveLength(status === 201 ? 1 : 0)
  await sql('DELETE FROM "project" WHERE "id" = 9')
})

const wrong = { headers: { Authorization: basic('ann', 'wrong') } }
test.each([
  ['usual', 'GET /api/contract/', { as: 'ann' }, 401],
  ['strict', 'GET /api/contract/', { as: 'ann' }, 403],
  ['strict', 'GET /api/contract/', {}, 401],
  ['strict', 'GET /api/contract/', wrong, 401],
  ['strict', 'GET /api/contract/', { as: 'root' }, 200],
  ['strict', 'GET /api/contract/99/', { as: 'ann' }, 403],
  ['strict', 'POST /api/project/', { as: undefined, body: {} }, 401],
  // A permission is 403 in any case.
  ['usual', 'DELETE /api/budget/1/', { as: 'root' }, 403],
] as const)('Forbidden: on the %s site, %s by %j is %d', async (site, line, options, status) => {
  const reply = await send(worlds[site].url, line, options)
  expect([reply.status, reply.headers['www-authenticate']]).toEqual([
    status,
    status === 401 ? 'Basic realm="Login Required"' : undefined,
  ])
})

test.each([
  [{}, [1], 'no-cache'],
  [wrong, [1], 'no-cache'],
  [{ as: 'ann' }, [1, 2], 'private, no-cache'],
  [{ as: 'root' }, [1, 3], 'private, no-cache'],
] as const)('Public reading: with %j the visible records are %j', async (options, ids, caching) => {
  const { url } = worlds.usual
  const reply = await send(url, 'GET /api/article/', options)
  const { objects } = reply.json() as { readonly objects: readonly { readonly id: number }[] }
  expect(objects.map(({ id }) => id)).toEqual(ids)
  expect(reply.headers.vary).toContain('Authorization')
  expect(reply.headers['cache-control']).toBe(caching)
  expect((await send(url, 'GET /api/article/2/', options)).status).toBe(ids.includes(2 as never) ? 200 : 404)
})
