import { EntitySchema } from 'typeorm'
import { anonymous } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** A text column whose collation ignores case: `NOCASE` on SQLite, the default collation on MariaDB. PostgreSQL has none by default. */
const text = { type: 'varchar' as const, length: 20, ...(isSqlite && { collation: 'NOCASE' }) }

const Code = new EntitySchema({
  name: 'code',
  columns: { code: { ...text, primary: true }, label: { ...text, nullable: true } },
})
const Part = new EntitySchema({
  name: 'part',
  columns: { code: { ...text, primary: true }, number: { type: Number, primary: true } },
})
const Use = new EntitySchema<{ id: number; code: unknown; part: unknown }>({
  name: 'use',
  columns: { id: { type: Number, primary: true, generated: true } },
  relations: {
    code: { type: 'many-to-one', target: 'code', nullable: true },
    part: { type: 'many-to-one', target: 'part', nullable: true },
  },
})

let world: World
beforeAll(async () => {
  const auth = (): typeof anonymous => anonymous
  world = await openWorld({
    entities: [Code, Part, Use],
    mount: { resources: [Code, Part, Use].map((entity) => ({ entity, auth })) },
  })
  expect((await post('code', { code: 'abc', label: 'one' })).status).toBe(201)
  expect((await post('part', { code: 'abc', number: 1 })).status).toBe(201)
  expect((await post('use', { code_id: 'abc', part_id: 'abc,1' })).status).toBe(201)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, ids, post, put } = apiOf(() => world.url)

test('Operators: equality is case-sensitive, whatever the collation is', async () => {
  const others = Array.from({ length: 6 }, (_, index) => `x${index}`).join(',')
  const all = ['abc']
  for (const [query, found] of [
    ['code?label=one', all],
    ['code?label=ONE', []],
    ['code?label__in=ONE,One', []],
    ['code?label__in=ONE,one', all],
    ['code?label__ne=ONE', all],
    ['code?label__ne=one', []],
    ['code?code=ABC', []],
    [`code?code__in=ABC,${others}`, []],
    [`code?code__in=abc,${others}`, all],
    ['use?code=ABC', []],
    ['use?code__label=ONE', []],
    ['use?code=abc', [1]],
    ['use?part=ABC,1', []],
    ['use?part=abc,1', [1]],
  ] as const) {
    expect([query, await ids(query)]).toEqual([query, found])
  }
})

test('Operators: equality of keys of several columns is case-sensitive, also in long lists', async () => {
  const others = Array.from({ length: 6 }, (_, index) => `"x,${index}"`).join(',')
  expect(await ids(`use?part__in="ABC,1",${others}`)).toEqual([])
  expect(await ids(`use?part__in="abc,1",${others}`)).toEqual([1])
})

test.each(['GET', 'PUT', 'DELETE'])('a path with another case than the key finds no record: %s', async (method) => {
  for (const path of ['code/ABC', 'part/ABC,1']) {
    const body = method === 'PUT' ? (path.startsWith('code') ? { label: 'two' } : { number: 2 }) : undefined
    const reply = body === undefined ? await send(world.url, `${method} /api/${path}/`) : await put(path, body)
    expect([path, reply.status]).toEqual([path, 404])
  }
  expect((await get('code/abc/')).json()).toMatchObject({ code: 'abc', label: 'one' })
})

test('Foreign keys: a value with another case than the key refers to no record', async () => {
  for (const [field, value] of [
    ['code_id', 'ABC'],
    ['part_id', 'ABC,1'],
  ] as const) {
    for (const reply of [await post('use', { [field]: value }), await put('use/1', { [field]: value })]) {
      expect(reply.json()).toMatchObject({ status: 400, errors: [{ field }] })
    }
  }
  expect(await ids('use')).toEqual([1])
})
