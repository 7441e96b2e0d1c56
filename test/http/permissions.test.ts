import { setTimeout } from 'node:timers/promises'
import Koa from 'koa'
import {
  BeforeUpdate,
  Column,
  DeleteDateColumn,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm'
import { ConfigError, mountResources, type Principal, Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { isSqlite, sqlOf } from '../world/leg'
import { openDataSource, openWorld, type World } from '../world/world'

/** Permissions (`may`) by role and by the state of a record, and presets. */

/** The headers `x-person` and `x-role` name the person who sends a request, and the role. */
const byHeader: Rule = ({ context }) => {
  const id = context.get('x-person')
  return { id: id === '' ? null : Number(id), admin: context.get('x-role') === 'manager' }
}
const isManager = ({ admin }: Principal): boolean => admin === true

@Entity()
@Resource({
  auth: byHeader,
  may: {
    create: isManager,
    update: (me) =>
      isManager(me) ? { before: { status: 'draft' }, after: { status__in: ['draft', 'sent'] } } : { person: me.id },
    delete: (me) => isManager(me) && { status: 'draft' },
  },
})
class Invoice {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 10, default: 'draft' }) status!: string
  @Column({ type: 'integer', default: 0 }) amount!: number
  @Column({ type: 'integer', nullable: true }) person!: number | null
  @OneToMany(
    () => Line,
    ({ invoice }) => invoice,
  )
  lines!: Relation<Line>[]
}

/** Lines of sent invoices are frozen. The entity has a listener. */
@Entity()
@Resource({
  auth: byHeader,
  may: {
    create: { invoice__status: 'draft' },
    update: { invoice__status: 'draft' },
    delete: { invoice__status: 'draft' },
  },
})
class Line {
  @PrimaryColumn() id!: number
  @Column({ type: 'integer' }) amount!: number
  @ManyToOne(
    () => Invoice,
    ({ lines }) => lines,
    { nullable: true },
  )
  invoice!: Relation<Invoice> | null
  @BeforeUpdate() countUpdate(): void {
    updates++
  }
}
let updates = 0

/** Everybody writes records of their own. */
@Entity()
@Resource({
  auth: byHeader,
  scope: (me) => [{ author: me.id }, { published: true }],
  may: {
    create: (me) => ({ author: me.id }),
    update: (me) => ({ author: me.id }),
    delete: (me) => ({ author: me.id }),
  },
})
class Post {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) title!: string
  @Column({ type: 'boolean', default: false }) published!: boolean
  @Column({ type: 'integer' }) author!: number
  @DeleteDateColumn() deleted!: Date | null
}

/** `preset` overrides the body, also for fields that requests cannot write or see. */
@Entity()
@Resource({
  auth: byHeader,
  exclude: ['company'],
  readOnly: ['region'],
  preset: (me) => ({ company: 7, region: `r${me.id}`, invoice: 1, remark: null }),
})
class Memo {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) text!: string
  @Column({ type: 'integer' }) company!: number
  @Column({ type: 'varchar', length: 20 }) region!: string
  @Column({ type: 'varchar', length: 20, nullable: true, default: 'none' }) remark!: string | null
  @ManyToOne(() => Invoice, { nullable: false }) invoice!: Relation<Invoice>
}

@Entity()
@Tree('closure-table')
@Resource({ auth: byHeader, may: { update: { locked: false }, delete: { locked: false } } })
class Folder {
  @PrimaryColumn() id!: number
  @Column({ type: 'boolean', default: false }) locked!: boolean
  @TreeParent() parent!: Relation<Folder> | null
  @TreeChildren() children!: Relation<Folder>[]
}

/** Returns what a test sets. */
let result: () => unknown = () => true
@Entity()
@Resource({ auth: byHeader, may: { update: () => result() as boolean } })
class Draft {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) title!: string
}

/** Its resource has mistakes. */
@Entity()
class Sheet {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) title!: string
}

let presets: () => unknown
@Entity()
@Resource({ auth: byHeader, preset: () => presets() as object as Record<string, string> })
class Preset {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) title!: string
  @Column({ type: 'integer', default: 1 }) count!: number
}

const entities = [Invoice, Line, Post, Memo, Folder, Draft, Preset]
const tables = ['invoice', 'line', 'post', 'memo', 'folder', 'draft']

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities,
    mount: { openapi: byHeader },
    seed: async (dataSource) => {
      const save = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
        dataSource.getRepository<object>(entity).save([...rows])
      await save(Invoice, [
        { id: 1, status: 'draft', amount: 10, person: 1 },
        { id: 2, status: 'sent', amount: 20, person: 2 },
        { id: 3, status: 'paid', amount: 30, person: null },
      ])
      await save(Line, [
        { id: 1, amount: 10, invoice: { id: 1 } },
        { id: 2, amount: 20, invoice: { id: 2 } },
        { id: 3, amount: 20, invoice: null },
      ])
      await save(Post, [
        { id: 1, title: 'own', author: 1 },
        { id: 2, title: 'other', author: 2, published: true },
        { id: 3, title: 'hidden', author: 2 },
      ])
      await save(Folder, [{ id: 1 }, { id: 2, locked: true }])
      await save(Draft, [{ id: 1, title: 'x' }])
    },
  })
})
afterAll(() => world.close())

/** Errors that reached Koa's `error` event since the last call. */
function newFaults(): readonly unknown[] {
  return (world.faults as unknown[]).splice(0)
}

function as(who: string, line: string, body?: unknown, more: Readonly<Record<string, string>> = {}) {
  const [person = '', role = ''] = who.split(' ')
  const headers = { ...(person !== 'nobody' && { 'x-person': person }), 'x-role': role, ...more }
  return send(world.url, line.replace(' ', ' /api/'), { headers, body })
}

const rows = () => Promise.all(tables.map((table) => world.sql(`SELECT * FROM "${table}" ORDER BY "id"`)))

test.each([
  // By role.
  ['1', 'POST invoice/', { id: 9 }, 403],
  ['1', 'POST invoice/', { id: 'wrong', nope: 1 }, 403],
  ['nobody', 'POST invoice/', { id: 9 }, 401],
  ['1', 'DELETE invoice/1/', undefined, 403],
  ['nobody', 'DELETE invoice/1/', undefined, 401],
  // By the state of the record before the write.
  ['9 manager', 'DELETE invoice/2/', undefined, 403],
  ['9 manager', 'PUT invoice/2/', { amount: 1 }, 403],
  ['9 manager', 'PATCH invoice/2/', { amount: 1 }, 403],
  ['9 manager', 'PUT invoice/2/', {}, 403],
  ['9 manager', 'PUT invoice/2/', { amount: 'wrong' }, 403],
  ['9 manager', 'PUT invoice/3/', { status: 'draft' }, 403],
  ['9 manager', 'PUT invoice/99/', { status: 'draft' }, 404],
  ['9 manager', 'DELETE invoice/99/', undefined, 404],
  // By its state after the write.
  ['9 manager', 'PUT invoice/1/', { status: 'paid' }, 403],
  ['1', 'PUT invoice/1/', { person: 2 }, 403],
  ['1', 'PUT invoice/1/', { person: null }, 403],
  ['1', 'PUT invoice/2/', { person: 1 }, 403],
  ['nobody', 'PUT invoice/3/', { amount: 1 }, 401],
  // Through a relation, with listeners.
  ['1', 'POST line/', { id: 9, amount: 1, invoice_id: 2 }, 403],
  ['1', 'POST line/', { id: 9, amount: 1 }, 403],
  ['1', 'PUT line/2/', { amount: 1 }, 403],
  ['1', 'PUT line/3/', { invoice_id: 1 }, 403],
  ['1', 'PUT line/2/', { invoice_id: 1 }, 403],
  ['1', 'PUT line/1/', { invoice_id: 2 }, 403],
  ['1', 'PUT line/1/', { invoice_id: null }, 403],
  ['1', 'DELETE line/2/', undefined, 403],
  ['nobody', 'DELETE line/2/', undefined, 401],
  // With a row scope: what is not visible is 404.
  ['1', 'PUT post/2/', { title: 'mine' }, 403],
  ['1', 'DELETE post/2/', undefined, 403],
  ['1', 'PUT post/3/', { title: 'mine' }, 404],
  ['1', 'DELETE post/3/', undefined, 404],
  ['1', 'PUT post/1/', { author: 2, published: true }, 403],
  ['1', 'POST post/', { id: 9, title: 'x', author: 2, published: true }, 403],
  ['nobody', 'POST post/', { id: 9, title: 'x', author: 2, published: true }, 401],
  // Trees.
  ['1', 'PUT folder/2/', { parent_id: 1 }, 403],
  ['1', 'PUT folder/1/', { locked: true, parent_id: 2 }, 403],
  ['1', 'DELETE folder/2/', undefined, 403],
] as const)('Permissions: %s may not send %s %j: %d, and nothing is written', async (who, line, body, status) => {
  const before = await rows()
  const reply = await as(who, line, body)
  expect([reply.status, reply.text]).toEqual([status, expect.any(String)])
  if (status === 403) expect(reply.json()).toMatchObject({ type: expect.stringMatching(/forbidden$/), status })
  expect(await rows()).toEqual(before)
})

test('Permissions: the record is checked before preconditions and values', async () => {
  const refused = await as('9 manager', 'PUT invoice/2/', { amount: 'wrong' }, { 'If-Match': '"x"' })
  expect(refused.status).toBe(403)
  expect((await as('9 manager', 'PUT invoice/1/', { amount: 1 }, { 'If-Match': '"x"' })).status).toBe(412)
})

test('Permissions: what is permitted is written', async () => {
  expect((await as('9 manager', 'POST invoice/', { id: 10, person: 1 })).status).toBe(201)
  expect((await as('1', 'PUT invoice/10/', { amount: 5 })).status).toBe(200)
  expect((await as('1', 'POST line/', { id: 10, amount: 5, invoice_id: 10 })).status).toBe(201)
  updates = 0
  expect((await as('1', 'PUT line/10/', { amount: 6 })).status).toBe(200)
  expect(updates).toBe(1)
  expect((await as('1', 'POST line/', { id: 11, amount: 5, invoice_id: 10 })).status).toBe(201)
  expect((await as('1', 'DELETE line/11/')).status).toBe(204)
  expect((await as('9 manager', 'PUT invoice/10/', { status: 'sent' })).status).toBe(200)
  expect((await as('9 manager', 'PUT invoice/10/', { status: 'draft' })).status).toBe(403)
  expect((await as('1', 'PUT line/10/', { amount: 7 })).status).toBe(403)
  expect((await as('1', 'PUT folder/1/', { locked: true })).status).toBe(403)
  expect((await as('9 manager', 'POST folder/', { id: 3, parent_id: 2 })).status).toBe(201)
  expect((await as('1', 'PUT folder/3/', { parent_id: 1 })).status).toBe(200)
  expect((await as('1', 'DELETE folder/3/')).status).toBe(204)
  await world.sql('DELETE FROM "line" WHERE "id" = 10')
  await world.sql('DELETE FROM "invoice" WHERE "id" = 10')
})

test('Presets: a POST gets the values that may.create requires', async () => {
  const created = await as('1', 'POST post/', { id: 10, title: 'x' })
  expect([created.status, created.json()]).toEqual([201, expect.objectContaining({ author: 1 })])
  expect((await as('1', 'DELETE post/10/')).status).toBe(204)
  expect((await as('1', 'GET post/10/')).status).toBe(404)
  expect(await world.sql('SELECT "author" FROM "post" WHERE "id" = 10 AND "deleted" IS NOT NULL')).toHaveLength(1)
  await world.sql('DELETE FROM "post" WHERE "id" = 10')
})

test('Presets: the option "preset" overrides the body', async () => {
  const body = { id: 10, text: 'x', company: 1, invoice_id: 2, remark: 'y' }
  const created = await as('3', 'POST memo/', body)
  expect([created.status, created.json()]).toEqual([
    201,
    { id: 10, text: 'x', region: 'r3', remark: null, invoice_id: 1 },
  ])
  expect(await world.sql('SELECT "company" FROM "memo" WHERE "id" = 10')).toEqual([{ company: 7 }])
  // Only new records get the values.
  expect((await as('4', 'PUT memo/10/', { invoice_id: 2, company: 8 })).json()).toMatchObject({
    region: 'r3',
    invoice_id: 2,
  })
  expect((await as('3', 'POST memo/', { id: 11, text: 'x', region: 'mine' })).status).toBe(400)
})

test.each([
  ['of another type', { company: 'seven' }],
  ['that is null for a field that is never null', { company: null }],
  ['that is too long', { remark: 'x'.repeat(30) }],
  ['that is no key', { invoice_id: {} }],
  ['that is the key of no record', { invoice_id: 999 }],
])('Presets: the option "preset" overrides a value in the body %s', async (_, invalid) => {
  const created = await as('3', 'POST memo/', { id: 12, text: 'x', ...invalid })
  expect([created.status, created.json()]).toEqual([
    201,
    { id: 12, text: 'x', region: 'r3', remark: null, invoice_id: 1 },
  ])
  expect(await world.sql('SELECT "company" FROM "memo" WHERE "id" = 12')).toEqual([{ company: 7 }])
  await world.sql('DELETE FROM "memo" WHERE "id" = 12')
  // Other fields are checked.
  expect((await as('3', 'POST memo/', { id: 'x', text: null, ...invalid })).json()).toMatchObject({
    errors: [{ field: 'id' }, { field: 'text' }],
  })
})

test.each([
  ['an unknown name', { create: { titl: 'x' } }, [/"may.create": titl /]],
  ['an unknown operator', { delete: { title__lik: 'x' } }, [/"may.delete": title__lik /]],
  ['an unknown name in a group', { create: { or: [{ id: 1 }, { not: { titl: 'x' } }] } }, [/"may.create": titl /]],
  ['an unknown name in an array', { delete: [{ id: 1 }, { titl: 'x' }] }, [/"may.delete": titl /]],
  ['a value of another type', { update: { id: 'one' } }, [/"may.update": id /]],
  ['an undefined value', { update: { id: undefined } }, [/"may.update": the value of id is undefined/]],
  [
    'several mistakes',
    { create: {}, update: { before: {}, after: { titl: 'x', name: 'y' } }, delete: { id: 1 } },
    [
      /"may.create": a filter must not be empty/,
      /"may.update" \(before\): a filter must not be empty/,
      /"may.update" \(after\): titl .*name /,
    ],
  ],
])('Permissions: a constant filter with %s is a mistake at mount', async (_, may, expected) => {
  const dataSource = await openDataSource([Sheet])
  try {
    const mount = () => mountResources(new Koa(), dataSource, { resources: [{ entity: Sheet, may: may as object }] })
    expect(mistakesOf(mount)).toEqual(expected.map((pattern) => expect.stringMatching(pattern)))
  } finally {
    await dataSource.destroy()
  }
})

function mistakesOf(mount: () => unknown): readonly string[] {
  try {
    mount()
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
  }
  return []
}

type Call = readonly [description: string, call: () => unknown]

test.each<Call>([
  ['undefined', () => undefined],
  ['a text', () => 'yes'],
  ['an empty object', () => ({})],
  ['a promise', async () => true],
  ['an unknown name', () => ({ nam: 1 })],
  ['an undefined value', () => ({ title: undefined })],
  ['an undefined state', () => ({ before: undefined, after: true })],
  [
    'an error',
    () => {
      throw new Error('secret')
    },
  ],
])('Permissions: a function that returns %s is a fault, and nothing is written', async (_, call) => {
  result = call
  const reply = await as('1', 'PUT draft/1/', { title: 'y' })
  expect([reply.status, reply.text.includes('secret')]).toEqual([500, false])
  expect(newFaults()).toHaveLength(1)
  expect(await world.sql('SELECT "title" FROM "draft"')).toEqual([{ title: 'x' }])
})

test.each<Call>([
  ['undefined', () => undefined],
  ['an array', () => []],
  ['an unknown name', () => ({ nam: 1 })],
  ['an operator', () => ({ title__like: 'x' })],
  ['an undefined value', () => ({ title: undefined })],
  ['null for a field that is never null', () => ({ title: null })],
  ['a list', () => ({ title: [] })],
  ['a value of another type', () => ({ count: 'many' })],
])('Presets: a function that returns %s is a fault, and nothing is written', async (_, call) => {
  presets = call
  expect((await as('1', 'POST preset/', { id: 1, title: 'y' })).status).toBe(500)
  expect(newFaults()).toEqual([expect.objectContaining({ message: expect.stringContaining('preset of preset') })])
  expect(await world.sql('SELECT * FROM "preset"')).toEqual([])
})

test.each([
  ['PUT', { amount: 99 }],
  ['DELETE', undefined],
])('Permissions: a %s that waits for the lock of a record is 403 if the right ends meanwhile', async (method, body) => {
  await world.sql(`INSERT INTO "invoice" ("id", "status", "amount") VALUES (30, 'draft', 1)`)
  const send30 = () => as('9 manager', `${method} invoice/30/`, body)
  const freeze = sqlOf(`UPDATE "invoice" SET "status" = 'sent' WHERE "id" = 30`)
  let reply: ReturnType<typeof as>
  if (isSqlite) {
    // There is one connection, so that a write never waits for a lock.
    await world.sql(freeze)
    reply = send30()
  } else {
    const other = world.dataSource.createQueryRunner()
    await other.startTransaction()
    await other.query(freeze)
    reply = send30()
    await setTimeout(300)
    await other.commitTransaction()
    await other.release()
  }
  expect((await reply).status).toBe(403)
  expect(await world.sql(`SELECT "amount" FROM "invoice" WHERE "id" = 30`)).toEqual([{ amount: 1 }])
  await world.sql(`DELETE FROM "invoice" WHERE "id" = 30`)
})

test.each([
  ['1', ['get', 'put', 'patch']],
  ['9 manager', ['get', 'post', 'put', 'patch', 'delete']],
  ['nobody', ['get', 'put', 'patch']],
] as const)('Permissions: the OpenAPI document shows %s the operations %j on invoices', async (who, methods) => {
  result = () => true
  const reply = await as(who, 'GET openapi.json')
  expect([reply.status, newFaults()]).toEqual([200, []])
  const { paths, components } = reply.json() as {
    readonly paths: Readonly<Record<string, object>>
    readonly components: { readonly schemas: object }
  }
  const shown = Object.keys({ ...paths['/invoice'], ...paths['/invoice/{id}'] }).filter((name) => name !== 'parameters')
  expect(shown.toSorted()).toEqual(methods.toSorted())
  expect(Object.keys(components.schemas).includes('invoice.create')).toBe(methods.includes('post' as never))
  const again = await as(who, 'GET openapi.json', undefined, { 'If-None-Match': String(reply.headers.etag) })
  expect(again.status).toBe(304)
})

test('mounted.resources reports which writes are restricted', () => {
  const reported = world.mounted.resources.flatMap(({ name, may }) => (may === undefined ? [] : `${name}: ${may}`))
  expect(reported.toSorted()).toEqual([
    'draft: update',
    'folder: update,delete',
    'invoice: create,update,delete',
    'line: create,update,delete',
    'post: create,update,delete',
  ])
})
