import {
  Column,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  Unique,
} from 'typeorm'
import { type Principal, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { openWorld, type World } from '../world/world'

/**
 * A record with values that the row scope or `may` excludes is 403, whether another record has the same unique values or not:
 * a 409 would reveal records of other teams (specification: Row scopes, Permissions).
 */

const auth: Rule = () => ({ id: 'ann', team: 1 }) as Principal
const teamOf = (principal: Principal): number => (principal as Principal & { readonly team: number }).team

@Entity()
@Resource({ auth, bulk: true, scope: (me) => ({ team: teamOf(me) }), nested: ['parts'] })
@Unique(['team', 'code'])
class Item {
  @PrimaryGeneratedColumn() id!: number
  @Column() team!: number
  @Column({ length: 10 }) code!: string
  @OneToMany(
    () => Part,
    ({ item }) => item,
  )
  parts!: Relation<Part>[]
}

@Entity()
@Resource({ auth, bulk: true, scope: (me) => [{ team__in: [teamOf(me), 9] }, { and: [{ team: 8 }, { team__ne: 8 }] }] })
@Unique(['team', 'code'])
class Part {
  @PrimaryGeneratedColumn() id!: number
  @Column() team!: number
  @Column({ length: 10 }) code!: string
  @ManyToOne(
    () => Item,
    ({ parts }) => parts,
    { nullable: true },
  )
  item!: Relation<Item> | null
}

/** Its key contains the team. */
@Entity()
@Resource({ auth, scope: (me) => ({ team: teamOf(me) }) })
class Member {
  @PrimaryColumn() team!: number
  @PrimaryColumn({ length: 10 }) code!: string
}

@Entity()
@Resource({
  auth,
  bulk: true,
  may: {
    create: (me) => ({ team: teamOf(me) }),
    update: (me) => ({ before: true, after: { not: { team__in: [2, 3] }, team__lt: teamOf(me) + 100 } }),
  },
})
@Unique(['team', 'code'])
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @Column() team!: number
  @Column({ length: 10 }) code!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Item, Part, Member, Draft],
    columnOrder: 0,
    mount: { batch: true },
    seed: async ({ manager }) => {
      for (const entity of [Item, Part, Draft]) {
        await manager.insert(entity, { team: 1, code: 'own' })
        await manager.insert(entity, { team: 2, code: 'taken' })
      }
      await manager.insert(Member, { team: 2, code: 'taken' })
    },
  })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.close()
})

const request = (line: string, body: unknown, headers = {}): Promise<Reply> =>
  send(world.url, line.replace(' ', ' /api/'), { body, headers })

type Case = readonly [title: string, line: string, body: (code: string) => unknown, headers?: Record<string, string>]

const cases: readonly Case[] = [
  ['a POST', 'POST item/', (code) => ({ team: 2, code })],
  ['an array', 'POST item/', (code) => [{ code: 'new' }, { team: 2, code }]],
  ['an array with a conflict of its own', 'POST item/', (code) => [{ code: 'own' }, { team: 2, code }]],
  ['a file', 'POST item/', (code) => `team,code\n2,${code}\n`, { 'Content-Type': 'text/csv' }],
  ['an upsert', 'POST item/?on_conflict=team,code', (code) => ({ team: 2, code })],
  ['upserts', 'POST item/?on_conflict=team,code', (code) => [{ team: 2, code }]],
  ['a PATCH', 'PATCH item/1/', (code) => ({ team: 2, code })],
  ['a PATCH of records', 'PATCH item/?id=1', (code) => ({ team: 2, code })],
  ['a batch', 'POST -/batch', (code) => [{ method: 'POST', path: '/api/item/', body: { team: 2, code } }]],
  ['a nested write', 'POST item/', (code) => ({ code: 'new', parts: [{ team: 2, code }] })],
  ['a nested write of its parent', 'PATCH item/1/', (code) => ({ team: 2, code, parts: [] })],
  ['alternatives', 'POST part/', (code) => ({ team: 2, code })],
  ['a key', 'POST member/', (code) => ({ team: 2, code })],
  ['may.create', 'POST draft/', (code) => ({ team: 2, code })],
  ['may.update', 'PATCH draft/1/', (code) => ({ team: 2, code })],
]

test.each(cases.map(([title, line, body, headers = {}]) => ({ title, line, body, headers })))(
  '$title',
  async ({ line, body, headers }) => {
    const [free, taken] = [await request(line, body('free'), headers), await request(line, body('taken'), headers)]
    expect(free.status).toBe(403)
    expect([taken.status, taken.text]).toEqual([free.status, free.text])
  },
)

test('the path of a new record', async () => {
  const put = (code: string): Promise<Reply> => request(`PUT member/2,${code}/`, {}, { 'If-None-Match': '*' })
  const [free, taken] = [await put('free'), await put('taken')]
  expect([free.status, taken.status]).toEqual([403, 403])
  expect(taken.text).toBe(free.text)
})

test('values that are not excluded', async () => {
  const written = [
    await request('POST item/', { team: 1, code: 'a', parts: [{ team: 9, code: 'a' }] }),
    await request('PATCH item/1/', { team: 1, code: 'b' }),
    await request('POST part/', { team: 1, code: 'a' }),
    await request('PATCH draft/1/', { team: 4, code: 'a' }),
    await request('POST item/', { team: 1, code: 'a' }),
  ]
  expect(written.map(({ status }) => status)).toEqual([201, 200, 201, 200, 409])
})
