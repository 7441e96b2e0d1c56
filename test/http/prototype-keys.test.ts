import {
  BeforeInsert,
  BeforeUpdate,
  Column,
  Entity,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

class Inner {
  @Column({ type: 'simple-json', nullable: true }) plain!: unknown
}

class Keeper {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'simple-json', nullable: true }) plain!: unknown
  @Column({ type: 'json', nullable: true }) json!: unknown
  @Column({ type: isPostgres ? 'jsonb' : 'json', nullable: true }) jsonb!: unknown
  @Column(() => Inner) inner!: Inner
  @Column(
    isPostgres ? { type: 'hstore', hstoreType: 'object', nullable: true } : { type: 'simple-json', nullable: true },
  )
  store!: unknown
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Direct extends Keeper {}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Observed extends Keeper {
  @BeforeInsert() @BeforeUpdate() nothing(): void {}
}

@Entity()
@Tree('materialized-path')
@Resource({ auth: permitAllAsUser1 })
class Node extends Keeper {
  @TreeParent() parent!: Relation<Node> | null
  @TreeChildren() children!: Relation<Node>[]
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Direct, Observed, Node] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

// Text, since an object literal with these keys would set the prototype.
const json = '{"__proto__":{"a":1},"constructor":{"prototype":2},"b":{"__proto__":null}}'
const store = '{"__proto__":"1","b":null,"a\\"\\\\":"x\\"\\\\","constructor":""}'
const headers = { 'Content-Type': 'application/json' }

/** The paths of all nested members of a value, with their values, sorted. */
function membersOf(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [`${path} ${JSON.stringify(value)}`]
  return Object.entries(value)
    .flatMap(([key, member]) => membersOf(member, `${path}/${key}`))
    .toSorted()
}

test.each(['direct', 'observed'])('a key "__proto__" is stored and shown like other keys: %s', async (name) => {
  const values: Record<string, string> = { plain: json, json, jsonb: json, inner: `{"plain":${json}}`, store }
  const members = (names: readonly string[]): string => names.map((one) => `"${one}":${values[one]}`).join()
  const body = `{${members(Object.keys(values))}}`
  const made = await send(world.url, `POST /api/${name}/`, { headers, body })
  expect(made.status).toBe(201)
  const { id } = made.json() as { id: number }
  const shown = made.text
  const parsed = made.json() as Record<string, unknown>
  for (const [field, value] of Object.entries(values)) {
    // `toEqual` ignores this key.
    expect([field, membersOf(parsed[field])]).toEqual([field, membersOf(JSON.parse(value))])
  }
  const path = `/api/${name}/${id}/`
  expect((await send(world.url, `GET ${path}`)).text).toBe(shown)
  expect((await send(world.url, `PUT ${path}`, { headers, body })).text).toBe(shown)
  await send(world.url, `PUT ${path}`, { headers, body: '{"plain":null,"json":null,"jsonb":null,"store":null}' })
  expect((await send(world.url, `PUT ${path}`, { headers, body })).text).toBe(shown)
  expect((await send(world.url, `GET ${path}`)).text).toBe(shown)
})

test.each(['direct', 'observed', 'node'])(
  'a key "__proto__" of a record or an embedded object is an unknown field: %s',
  async (name) => {
    for (const body of ['{"__proto__":{"id":7}}', '{"inner":{"__proto__":{"plain":1}}}', '{"__proto__":null}']) {
      const reply = await send(world.url, `POST /api/${name}/`, { headers, body })
      expect([reply.status, reply.json()]).toMatchObject([
        400,
        { errors: [{ field: expect.stringContaining('__proto__') }] },
      ])
    }
  },
)

test('a tree keeps a key "__proto__", also when a node is moved', async () => {
  const created = await send(world.url, 'POST /api/node/', { headers, body: `{"plain":${json}}` })
  expect([created.status, membersOf((created.json() as { plain: unknown }).plain)]).toEqual([
    201,
    membersOf(JSON.parse(json)),
  ])
  const { id } = (await send(world.url, 'POST /api/node/', { body: {} })).json() as { id: number }
  const kept = await send(world.url, `PUT /api/node/${id}/`, { headers, body: `{"plain":${json}}` })
  expect([kept.status, membersOf((kept.json() as { plain: unknown }).plain)]).toEqual([
    200,
    membersOf(JSON.parse(json)),
  ])
  const parent = (await send(world.url, 'POST /api/node/', { body: {} })).json() as { id: number }
  const moved = await send(world.url, `PUT /api/node/${id}/`, { body: { parent_id: parent.id } })
  expect(membersOf((moved.json() as { plain: unknown }).plain)).toEqual(membersOf(JSON.parse(json)))
})
