import { Agent } from 'node:http'
import { Column, Entity, EntitySchema, PrimaryColumn } from 'typeorm'
import { hashPassword, type Principal, type ResourceOptions, UserAccount, userRule } from 'typeorm-resources'
import { byHeader } from '../agency/entities'
import { send } from '../client'
import { openWorld, type World, type WorldOptions } from '../world/world'

/** The functions of field permissions: when they are called, with what, and what happens if they fail. */

@Entity()
class Offer {
  @PrimaryColumn() id!: number
  @Column({ type: 'integer', default: 1 }) price!: number
  @Column({ type: 'varchar', length: 20, default: 'x' }) title!: string
  @Column({ type: 'integer', default: 2 }) cost!: number
}

@Entity()
@UserAccount()
class Member {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 40, unique: true }) username!: string
  @Column({ type: 'varchar', length: 160 }) password!: string
  @Column({ type: 'boolean', default: false }) admin!: boolean
}

/** Serves offers with these options while `use` runs. @returns the faults */
async function withWorld(
  { mount, fields }: { readonly mount?: WorldOptions['mount']; readonly fields: ResourceOptions['fields'] },
  use: (world: World) => Promise<void>,
): Promise<readonly unknown[]> {
  const world = await openWorld({
    entities: [Offer, Member],
    mount: { defaultAuth: byHeader, ...mount, resources: [{ entity: Offer, fields: fields ?? {} }] },
    seed: async (dataSource) => {
      await dataSource.getRepository(Offer).save({ id: 1 })
      const members = ['ann', 'bob'].map(async (username, index) => ({
        id: index + 1,
        username,
        password: await hashPassword(username),
        admin: username === 'ann',
      }))
      await dataSource.getRepository(Member).save(await Promise.all(members))
    },
  })
  try {
    await use(world)
    return world.faults
  } finally {
    await world.close()
  }
}

test('Field permissions: each function is called once per request, with the principal', async () => {
  const calls: Principal[] = []
  const price = (me: Principal): boolean => {
    calls.push(me)
    return me.id === 1
  }
  const fields = { price: { read: price }, title: { write: price }, cost: { read: price, write: price } }
  const faults = await withWorld({ fields }, async ({ url }) => {
    for (const [line, person, status] of [
      ['GET /api/offer/', '1', 200],
      ['GET /api/offer/?price=1', '2', 400],
      ['GET /api/offer/1/', '', 200],
      ['PUT /api/offer/1/', '1', 200],
      ['DELETE /api/offer/7/', '2', 404],
      ['PATCH /api/offer/1/', '2', 200],
      ['OPTIONS /api/offer/', '2', 204],
    ] as const) {
      const headers = person === '' ? {} : { 'x-person': person }
      const reply = await send(url, line, { headers, body: line.startsWith('P') ? { title: 'x' } : undefined })
      expect([line, reply.status]).toEqual([line, status])
    }
    expect(calls).toEqual([{ id: 1 }, { id: 2 }, { id: null }, { id: 1 }, { id: 2 }, { id: 2 }])
  })
  expect(faults).toEqual([])
})

test.each<[string, () => unknown, string]>([
  ['throws', () => throwing('the secret'), 'the secret'],
  ['is async', async () => true, 'the function in "read" of offer.price must not be async'],
  ['rejects', async () => throwing('later'), 'the function in "read" of offer.price must not be async'],
  [
    'returns nothing',
    () => undefined,
    'the function in "read" of offer.price must return true or false, not undefined',
  ],
  ['returns a text', () => 'no', 'the function in "read" of offer.price must return true or false, not string'],
])('Field permissions: if a function %s, the response is 500', async (_, read, message) => {
  const lines = [
    'GET /api/offer/',
    'GET /api/offer/1/',
    'PUT /api/offer/1/',
    'POST /api/offer/',
    'GET /api/openapi.json',
  ]
  const faults = await withWorld({ fields: { price: { read: read as () => boolean } } }, async ({ url, sql }) => {
    for (const line of lines) {
      const { status, text } = await send(url, line, { body: line.startsWith('P') ? { id: 5 } : undefined })
      expect([line, status, text]).toEqual([line, 500, expect.not.stringMatching(/secret|price|later/)])
    }
    expect(await sql('SELECT "id" FROM "offer"')).toHaveLength(1)
  })
  expect(faults.map((fault) => (fault as Error).message)).toEqual(lines.map(() => message))
})

function throwing(message: string): never {
  throw new Error(message)
}

const isAdmin = ({ admin }: Principal): boolean => admin === true

test.each([
  ['without credentials', undefined, undefined, false],
  ['of a user', 'bob', undefined, false],
  ['of an administrator', 'ann', undefined, true],
  ['with a wrong password', undefined, 'Basic YW5uOnh4', false],
  ['with a header that is not Basic', undefined, 'Bearer x', false],
])('Field permissions: the public OpenAPI document for a request %s', async (_, as, authorization, isShown) => {
  const mount = { defaultAuth: userRule({ read: 'public' }) }
  const faults = await withWorld({ mount, fields: { cost: { read: isAdmin } } }, async ({ url }) => {
    const headers = authorization === undefined ? {} : { Authorization: authorization }
    const reply = await send(url, 'GET /api/openapi.json', { as, headers })
    expect([reply.status, reply.text.includes('cost')]).toEqual([200, isShown])
    expect(reply.headers).toMatchObject({ vary: 'Authorization', 'cache-control': 'private, no-cache' })
    const again = await send(url, 'GET /api/openapi.json', { headers: { 'If-None-Match': reply.headers.etag ?? '' } })
    expect(again.status).toBe(isShown ? 200 : 304)
  })
  expect(faults).toEqual([])
})

test.each([
  ['without credentials', undefined, undefined, false],
  ['of a user', 'bob', undefined, false],
  ['of an administrator', 'ann', undefined, true],
  ['with a wrong password', undefined, 'Basic YW5uOnh4', false],
])('Field permissions: a public record for a request %s', async (_, as, authorization, isShown) => {
  const mount = { defaultAuth: userRule({ read: 'public' }) }
  const faults = await withWorld({ mount, fields: { cost: { read: isAdmin } } }, async ({ url }) => {
    const headers = authorization === undefined ? {} : { Authorization: authorization }
    const { status, text } = await send(url, 'GET /api/offer/1/', { as, headers })
    expect([status, text.includes('cost')]).toEqual([200, isShown])
  })
  expect(faults).toEqual([])
})

test('Field permissions: true and false are for everybody', async () => {
  const fields = { price: { read: false }, title: { write: false }, cost: { read: false, write: true } }
  const faults = await withWorld({ fields }, async ({ url, mounted }) => {
    const { text } = await send(url, 'GET /api/offer/1/')
    expect(JSON.parse(text)).toEqual({ id: 1, title: 'x' })
    for (const [body, status] of [
      [{ price: 1 }, 400],
      [{ title: 'y' }, 400],
      [{ cost: 7 }, 200],
    ] as const) {
      expect([body, (await send(url, 'PUT /api/offer/1/', { body })).status]).toEqual([body, status])
    }
    const [described] = mounted.resources
    expect(described).toMatchObject({
      fields: ['id', 'title'],
      fieldPermissions: { price: ['read', 'write'], title: ['write'], cost: ['read'] },
    })
  })
  expect(faults).toEqual([])
})

/** A resource with so many fields that only some of its 128 combinations of permissions are kept in memory. */
const wideColumns = Array.from({ length: 300 }, (_, index) => `c${index}`)
const Wide = new EntitySchema<{ id: number }>({
  name: 'wide',
  columns: {
    id: { type: 'integer', primary: true },
    ...Object.fromEntries(wideColumns.map((name) => [name, { type: 'integer', default: 1 }])),
  },
})

test('Field permissions: more combinations of permissions than are kept in memory', async () => {
  // Each bit of the person's id is a permission.
  const fields = Object.fromEntries(wideColumns.slice(0, 7).map((name, index) => [name, { read: bit(index) }]))
  const world = await openWorld({
    entities: [Wide],
    mount: { defaultAuth: byHeader, openapi: byHeader, resources: [{ entity: Wide, fields }] },
    seed: async (dataSource) => void (await dataSource.getRepository(Wide).save({ id: 1 })),
  })
  const agent = new Agent({ keepAlive: true })
  const as = (person: number, path: string) =>
    send(world.url, `GET /api/${path}`, { headers: { 'x-person': String(person) }, agent })
  for (const round of [0, 1]) {
    for (let person = 0; person < 128; person++) {
      const hidden = wideColumns.slice(0, 7).filter((_, index) => !bit(index)({ id: person }))
      const shown = Object.keys((await as(person, 'wide/1/')).json() as object)
      const names = ['id', ...wideColumns.filter((name) => !hidden.includes(name))]
      expect([round, person, shown.sort()]).toEqual([round, person, names.sort()])
      if (person % 16 > 0) continue
      const { text } = await as(person, 'openapi.json')
      expect([person, hidden.filter((name) => text.includes(`"${name}"`))]).toEqual([person, []])
    }
  }
  agent.destroy()
  await world.close()
  expect(world.faults).toEqual([])
})

const bit =
  (index: number) =>
  ({ id }: Principal): boolean =>
    ((Number(id) >> index) & 1) === 1

test('Field permissions: queries of the application have all fields', async () => {
  await withWorld({ fields: { price: { read: () => false } } }, async ({ mounted }) => {
    const [offer] = await mounted.visible(Offer, { id: 7 }).where('offer.price = 1').getMany()
    expect(offer).toMatchObject({ id: 1, price: 1 })
  })
})
