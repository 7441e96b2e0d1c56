import { IsIn, IsOptional } from 'class-validator'
import {
  BeforeUpdate,
  Column,
  DeleteDateColumn,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  Index,
  type InsertEvent,
  JoinColumn,
  ManyToOne,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  Unique,
} from 'typeorm'
import { IdempotencyKey, type Principal, problem, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { isMariadb, isPostgres, isSqlite, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Upserts: `POST ?on_conflict=…`, and PUT with `If-None-Match: *`. */

/** The header `x-person` names the person who sends a request, and `x-role` the role. */
const byHeader: Rule = ({ context }) => {
  const id = context.get('x-person')
  return { id: id === '' ? null : Number(id), admin: context.get('x-role') === 'manager' }
}
const isManager = ({ admin }: Principal): boolean => admin === true

@Entity()
@Resource({ auth: byHeader })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
}

@Entity()
@Resource({ auth: byHeader, exclude: ['secret'], readOnly: ['stock'] })
class Product {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, unique: true, ...(isSqlite && { collation: 'NOCASE' }) }) code!: string
  @Column({ type: 'varchar', length: 20 }) name!: string
  @Column({ type: 'integer', default: 0 }) price!: number
  @Column({ type: 'integer', default: 3 }) stock!: number
  @Column({ type: 'varchar', length: 20, nullable: true, unique: true }) sku!: string | null
  @Column({ type: 'varchar', length: 20, nullable: true, unique: true }) secret!: string | null
  @DeleteDateColumn() removed!: Date | null
}

@Entity()
@Unique(['project', 'number'])
@Index(['title'], { unique: true })
@Resource({ auth: byHeader, requireIfMatch: true, fields: { title: { read: isManager } } })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Project, { nullable: false }) project!: Relation<Project>
  @Column({ type: 'integer' }) number!: number
  @Column({ type: 'varchar', length: 20, nullable: true }) title!: string | null
}

@Entity()
@Resource({ auth: byHeader })
class Detail {
  @PrimaryGeneratedColumn() id!: number
  @OneToOne(() => Product, { nullable: false }) @JoinColumn() product!: Relation<Product>
  @Column({ type: 'varchar', length: 20 }) text!: string
}

/** Records of companies: the number of the person. The serial numbers of all companies differ. */
@Entity()
@Unique(['company', 'code'])
@Resource({
  auth: byHeader,
  scope: ({ id }) => ({ company: Number(id) }),
  may: { create: true, update: { locked: false } },
})
class Report {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'integer' }) company!: number
  @Column({ type: 'varchar', length: 20 }) code!: string
  @Column({ type: 'integer', unique: true }) serial!: number
  @Column({ type: 'boolean', default: false }) locked!: boolean
  @Column({ type: 'integer', default: 0 }) pages!: number
}

@Entity()
@Unique(['person', 'title'])
@Resource({ auth: byHeader, ownerField: { field: 'person', is: ({ id }) => id } })
class Memo {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Project, { nullable: false }) person!: Relation<Project>
  @Column({ type: 'varchar', length: 20 }) title!: string
  @Column({ type: 'varchar', length: 20, unique: true }) slug!: string
  @Column({ type: 'integer', default: 0 }) stars!: number
}

@Entity()
@Unique(['device', 'at'])
@Resource({ auth: byHeader })
class Reading {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'integer' }) device!: number
  @Column(types.instant) at!: Date
  @Column({ type: 'integer' }) value!: number
}

/** Without a unique constraint. */
@Entity()
@Resource({ auth: byHeader })
class Plain {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
}

/** With bulk writes and a listener. Nobody may change a locked article. */
@Entity()
@Resource({ auth: byHeader, bulk: 100, scope: () => ({ hidden: false }), may: { update: { locked: false } } })
class Article {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, unique: true }) code!: string
  @Column({ type: 'varchar', length: 20 }) title!: string
  @Column({ type: 'integer', nullable: true, unique: true }) rank!: number | null
  @Column({ type: 'boolean', default: false }) locked!: boolean
  @Column({ type: 'boolean', default: false }) hidden!: boolean
  @BeforeUpdate() refuse(): void {
    if (this.title === 'refused') throw problem(409, 'refused by a listener', { field: 'title' })
  }
}

/** The test drops its index. */
@Entity()
@Index(['name'], { unique: true })
@Resource({ auth: byHeader })
class Slot {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
}

/** Its unique index has a condition, except on MariaDB and MySQL. */
@Entity()
@Index(['name'], { unique: true, ...(!isMariadb && { where: '"open"' }) })
@Resource({ auth: byHeader })
class Ticket {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
  @Column({ type: 'boolean', default: true }) open!: boolean
}

@Entity()
@Resource({ auth: byHeader, scope: (me) => isManager(me) || { hidden: false }, may: { create: ({ id }) => id !== 7 } })
class Country {
  @PrimaryColumn({ type: 'varchar', length: 5 }) code!: string
  @Column({ type: 'varchar', length: 20 }) name!: string
  @Column({ type: 'boolean', default: false }) hidden!: boolean
}

@Entity()
@Resource({ auth: byHeader })
class Rate {
  @ManyToOne(() => Country, { nullable: false }) @JoinColumn() country!: Relation<Country>
  @PrimaryColumn({ type: 'varchar', length: 5 }) countryCode!: string
  @PrimaryColumn({ type: 'integer' }) year!: number
  @Column({ type: 'integer' }) percent!: number
}

/** Writes a row for each call of a listener, in the transaction of the write. */
@Entity()
class Audit {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) event!: string
}

@Entity()
@Resource({ auth: byHeader })
class Tag {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, unique: true }) name!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) @IsOptional() @IsIn(['red', 'blue']) color!: string | null
  @BeforeUpdate() refuse(): void {
    if (this.color === 'blue' && this.name === 'frozen') throw problem(409, 'the tag is frozen')
  }
}

@EventSubscriber()
class TagSubscriber implements EntitySubscriberInterface<Tag> {
  listenTo(): typeof Tag {
    return Tag
  }
  async beforeInsert({ entity, manager }: InsertEvent<Tag>): Promise<void> {
    entity.name = entity.name.trim()
    await manager.insert(Audit, { event: 'insert' })
  }
  async beforeUpdate({ manager }: { manager: InsertEvent<Tag>['manager'] }): Promise<void> {
    await manager.insert(Audit, { event: 'update' })
  }
}

/** Anybody may create records, and only managers may change them. */
@Entity()
@Resource({
  auth: (request) => (request.method === 'POST' || request.context.get('x-role') === 'manager' ? { id: 1 } : null),
})
class Contact {
  @PrimaryColumn({ type: 'varchar', length: 20 }) mail!: string
  @Column({ type: 'varchar', length: 20 }) text!: string
}

/** In an order in which they can be inserted. */
const entities = [
  Project,
  Product,
  Task,
  Detail,
  Report,
  Memo,
  Reading,
  Plain,
  Country,
  Rate,
  Audit,
  Tag,
  Contact,
  Slot,
  Ticket,
  Article,
]

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [...entities, IdempotencyKey],
    source: { subscribers: [TagSubscriber] },
    mount: { openapi: byHeader, batch: true },
  })
})
afterAll(() => world.close())
afterEach(() => expect((world.faults as unknown[]).splice(0)).toEqual([]))

interface Options {
  readonly as?: string
  readonly headers?: Readonly<Record<string, string>>
}
function api(line: string, body?: unknown, { as = '1', headers = {} }: Options = {}): Promise<Reply> {
  const [person = '', role = ''] = as.split(' ')
  const own = { ...(person !== 'nobody' && { 'x-person': person }), 'x-role': role, ...headers }
  return send(world.url, line.replace(' ', ' /api/'), { headers: own, body })
}
const count = async (table: string): Promise<number> =>
  Number((await world.sql(`SELECT COUNT(*) AS "count" FROM "${table}"`))[0]?.['count'])

/** Empties all tables, and inserts what the tests need. On PostgreSQL, TypeORM does not insert given ids of generated keys. */
async function reset(): Promise<void> {
  const tables = entities.map(({ name }) => `"${name.toLowerCase()}"`).toReversed()
  if (isPostgres) await world.sql(`TRUNCATE ${tables.join()} RESTART IDENTITY`)
  else for (const table of tables) await world.sql(`DELETE FROM ${table}`)
  const save = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
    world.dataSource.getRepository<object>(entity).insert([...rows])
  await save(Project, [
    { id: 1, name: 'one' },
    { id: 2, name: 'two' },
  ])
  await save(Product, [
    { id: 1, code: 'a', name: 'apple', price: 5, sku: 's1', secret: 'x1' },
    { id: 2, code: 'b', name: 'bread', sku: 's2' },
    { id: 3, code: 'gone', name: 'removed', removed: new Date() },
  ])
  await save(Task, [{ id: 1, project: { id: 1 }, number: 1, title: 't1' }])
  await save(Detail, [{ id: 1, product: { id: 1 }, text: 'old' }])
  await save(Report, [
    { id: 1, company: 1, code: 'r', serial: 1 },
    { id: 2, company: 1, code: 'locked', serial: 2, locked: true },
    { id: 3, company: 2, code: 'r', serial: 3 },
  ])
  await save(Memo, [
    { id: 1, person: { id: 1 }, title: 'm', slug: 'm1' },
    { id: 2, person: { id: 2 }, title: 'm', slug: 'm2' },
  ])
  await save(Reading, [
    { id: 1, device: 1, at: new Date('2026-01-01T00:00:00.250Z'), value: 1 },
    { id: 2, device: 1, at: new Date('2026-01-02T00:00:00Z'), value: 2 },
  ])
  await save(Country, [
    { code: 'ch', name: 'Switzerland' },
    { code: 'xx', name: 'Hidden', hidden: true },
  ])
  await save(Rate, [{ countryCode: 'ch', year: 2020, percent: 8 }])
  await save(Tag, [
    { id: 1, name: 'new', color: 'red' },
    { id: 2, name: 'frozen', color: 'red' },
  ])
  await save(Contact, [{ mail: 'a@x', text: 'old' }])
  await save(Article, [
    { id: 1, code: 'a', title: 'old', rank: 1 },
    { id: 2, code: 'locked', title: 'old', locked: true },
    { id: 3, code: 'hidden', title: 'old', rank: 3, hidden: true },
  ])
  await world.sql('DELETE FROM "audit"')
}
/** Whether a test may have changed the rows since the last reset. */
let isChanged = true
beforeEach(async () => {
  if (isChanged) await reset()
  isChanged = true
})

const requestTitle = 'Upserts: %s %j updates'
test.each([
  ['product/?on_conflict=code', { code: 'a', price: 6 }, { id: 1, code: 'a', name: 'apple', price: 6 }],
  ['product?on_conflict=code', { code: 'a', name: 'pear' }, { id: 1, name: 'pear', price: 5 }],
  ['product/?on%5Fconflict=code', { code: 'a', name: 'pear' }, { id: 1, name: 'pear' }],
  ['product/?on_conflict=code', { code: 'a' }, { id: 1, name: 'apple' }],
  ['product/?on_conflict=code', { id: 1, code: 'a', stock: 3 }, { id: 1, stock: 3 }],
  ['product/?on_conflict=sku', { sku: 's1', code: 'c', secret: 'x2' }, { id: 1, code: 'c', sku: 's1' }],
  ['detail/?on_conflict=product_id', { product_id: 1, text: 'new' }, { id: 1, product_id: 1, text: 'new' }],
  ['report/?on_conflict=company,code', { company: 1, code: 'r', pages: 9 }, { id: 1, pages: 9 }],
  ['report/?on_conflict=code,company', { code: 'r', pages: 8 }, { id: 1, company: 1, pages: 8 }],
  ['report/?on_conflict=serial', { serial: 1, code: 'new' }, { id: 1, code: 'new' }],
  ['memo/?on_conflict=person_id,title', { title: 'm', stars: 1 }, { id: 1, person_id: 1, stars: 1 }],
  ['memo/?on_conflict=person_id,title', { person_id: 2, title: 'm', stars: 2 }, { id: 1, person_id: 1, stars: 2 }],
  ['reading/?on_conflict=device,at', { device: 1, at: '2026-01-01T00:00:00.250Z', value: 7 }, { id: 1, value: 7 }],
  ['reading/?on_conflict=device,at', { device: 1, at: '2026-01-02 00:00:00', value: 7 }, { id: 2, value: 7 }],
  ['country/?on_conflict=code', { code: 'ch', name: 'Suisse' }, { id: 'ch', code: 'ch', name: 'Suisse' }],
  ['rate/?on_conflict=country_id,year', { country_id: 'ch', year: 2020, percent: 9 }, { id: 'ch,2020', percent: 9 }],
  ['tag/?on_conflict=name', { name: 'new', color: 'blue' }, { id: 1, color: 'blue' }],
] as const)(requestTitle, async (path, body, record) => {
  const table = path.replace(/\W.*/, '')
  const before = await count(table)
  const reply = await api(`POST ${path}`, body)
  expect([reply.status, reply.json()]).toEqual([200, expect.objectContaining(record)])
  expect(await count(table)).toBe(before)
  const { id } = reply.json() as { id: string | number }
  const read = await api(`GET ${table}/${id}/`)
  expect([reply.headers.location, reply.headers['content-location'], reply.headers.etag, read.json()]).toEqual([
    undefined,
    `/api/${table}/${id}/`,
    read.headers.etag,
    reply.json(),
  ])
})

test.each([
  ['product/?on_conflict=code', { code: 'c', name: 'new' }, { code: 'c', name: 'new', price: 0, stock: 3 }],
  // Equal for a filter that ignores the fraction, but not for the constraint.
  ['reading/?on_conflict=device,at', { device: 1, at: '2026-01-01 00:00:00', value: 7 }, { value: 7 }],
  ['report/?on_conflict=company,code', { code: 'x', serial: 9 }, { company: 1, code: 'x' }],
  ['memo/?on_conflict=title,person_id', { title: 'n', slug: 'n' }, { person_id: 1, title: 'n' }],
  ['country/?on_conflict=code', { code: 'fr', name: 'France' }, { id: 'fr', name: 'France' }],
  ['rate/?on_conflict=year,country_id', { country_id: 'ch', year: 2021, percent: 9 }, { id: 'ch,2021', percent: 9 }],
] as const)('Upserts: %s %j creates', async (path, body, record) => {
  const table = path.replace(/\W.*/, '')
  const before = await count(table)
  const reply = await api(`POST ${path}`, body)
  expect([reply.status, reply.json()]).toEqual([201, expect.objectContaining(record)])
  const { id } = reply.json() as { id: string | number }
  expect(reply.headers.location).toBe(`/api/${table}/${id}/`)
  const read = await api(`GET ${table}/${id}/`)
  expect([read.json(), read.headers.etag]).toEqual([reply.json(), reply.headers.etag])
  expect(await count(table)).toBe(before + 1)
})

const onConflict = (message: string | RegExp) => [{ field: 'on_conflict', message: expect.stringMatching(message) }]
test.each([
  // Names.
  ['1', 'product/?on_conflict=name', { code: 'a', name: 'x' }, 400, onConflict(/constraint: code or sku$/)],
  ['1', 'product/?on_conflict=secret', { code: 'a', secret: 'x1' }, 400, onConflict(/constraint: code or sku$/)],
  ['1', 'product/?on_conflict=id', { id: 1 }, 400, onConflict(/constraint: code or sku$/)],
  ['1', 'product/?on_conflict=code,sku', { code: 'a', sku: 's1' }, 400, onConflict(/constraint: code or sku$/)],
  ['1', 'product/?on_conflict=code,code', { code: 'a' }, 400, onConflict(/constraint: code or sku$/)],
  ['1', 'product/?on_conflict=', { code: 'a' }, 400, onConflict(/constraint: code or sku$/)],
  ['1', 'product/?on_conflict=code&on_conflict=sku', { code: 'a' }, 400, onConflict(/given twice/)],
  ['1', 'task/?on_conflict=project,number', { project_id: 1, number: 1 }, 400, onConflict(/: project_id,number$/)],
  ['1', 'task/?on_conflict=title', { title: 't1' }, 400, onConflict(/: project_id,number$/)],
  ['1 manager', 'task/?on_conflict=nope', { title: 't1' }, 400, onConflict(/: project_id,number or title$/)],
  ['1', 'plain/?on_conflict=name', { name: 'x' }, 400, onConflict(/plain has no unique constraint/)],
  // Values.
  ['1', 'product/?on_conflict=code', { name: 'x' }, 400, [{ field: 'code', message: expect.any(String) }]],
  [
    '1',
    'product/?on_conflict=sku',
    { code: 'c', name: 'x' },
    400,
    [{ field: 'sku', message: expect.stringMatching('is required') }],
  ],
  [
    '1',
    'product/?on_conflict=sku',
    { code: 'c', name: 'x', sku: null },
    400,
    [{ field: 'sku', message: expect.stringMatching('not be null') }],
  ],
  ['1', 'product/?on_conflict=code', { code: 7, name: 7 }, 400, [{ field: 'code' }, { field: 'name' }]],
  ['1', 'product/?on_conflict=code', { code: 'a', price: 'x' }, 400, [{ field: 'price' }]],
  ['1', 'product/?on_conflict=code', { code: 'a', stock: 4 }, 400, [{ field: 'stock' }]],
  ['1', 'product/?on_conflict=code', { code: 'c', stock: 3, name: 'x' }, 400, [{ field: 'stock' }]],
  ['1', 'product/?on_conflict=code', { code: 'c' }, 400, [{ field: 'name' }]],
  ['1', 'product/?on_conflict=code', { id: 2, code: 'a' }, 400, [{ field: 'id' }]],
  ['1', 'detail/?on_conflict=product_id', { product_id: 99, text: 'x' }, 400, [{ field: 'product_id' }]],
  ['1', 'tag/?on_conflict=name', { name: 'new', color: 'green' }, 400, [{ field: 'color' }]],
  ['1', 'tag/?on_conflict=name', { name: 'x', color: 'green' }, 400, [{ field: 'color' }]],
  ['1', 'product/?on_conflict=code', [], 400, undefined],
  // Another unique field.
  ['1', 'product/?on_conflict=code', { code: 'a', sku: 's2' }, 409, [{ field: 'sku' }]],
  ['1', 'product/?on_conflict=code', { code: 'c', name: 'x', sku: 's2' }, 409, [{ field: 'sku' }]],
  ['1', 'product/?on_conflict=code', { code: 'c', name: 'x', secret: 'x1' }, 409, []],
  // Records that cannot be seen.
  ['1', 'product/?on_conflict=code', { code: 'gone', name: 'x' }, 409, [{ field: 'code' }]],
  ['1', 'report/?on_conflict=serial', { serial: 3, code: 'x' }, 409, [{ field: 'serial' }]],
  ['1', 'country/?on_conflict=code', { code: 'xx', name: 'x' }, 409, [{ field: 'code' }]],
  // Listeners change the value.
  ['1', 'tag/?on_conflict=name', { name: ' new' }, 409, [{ field: 'name' }]],
  // Permissions, owners and preconditions.
  ['1', 'report/?on_conflict=serial', { serial: 2, pages: 1 }, 403, undefined],
  ['1', 'report/?on_conflict=serial', { serial: 1, locked: true }, 403, undefined],
  ['1', 'report/?on_conflict=serial', { serial: 1, company: 2, code: 'z' }, 403, undefined],
  ['1', 'report/?on_conflict=company,code', { company: 2, code: 'r', serial: 9 }, 403, undefined],
  ['1', 'report/?on_conflict=company,code', { company: 2, code: 'q', serial: 9 }, 403, undefined],
  ['1', 'memo/?on_conflict=slug', { slug: 'm2', stars: 9 }, 403, undefined],
  ['nobody', 'memo/?on_conflict=slug', { slug: 'm2', stars: 9 }, 401, undefined],
  ['7', 'country/?on_conflict=code', { code: 'fr', name: 'x' }, 403, undefined],
  ['1', 'task/?on_conflict=project_id,number', { project_id: 1, number: 1 }, 428, undefined],
  ['1', 'contact/?on_conflict=mail', { mail: 'a@x', text: 'new' }, 401, undefined],
  ['1', 'contact/?on_conflict=mail', { mail: 'b@x', text: 'new' }, 401, undefined],
  // An error of a listener.
  ['1', 'tag/?on_conflict=name', { name: 'frozen', color: 'blue' }, 409, undefined],
] as const)('Upserts: as %s, %s %j is refused by %d', async (who, path, body, status, errors) => {
  const tables = ['product', 'task', 'report', 'memo', 'country', 'detail', 'tag', 'contact', 'plain', 'audit']
  const rows = () => Promise.all(tables.map((table) => world.sql(`SELECT * FROM "${table}" ORDER BY 1`)))
  const before = await rows()
  const reply = await api(`POST ${path}`, body, { as: who })
  expect([reply.status, reply.text]).toEqual([status, expect.any(String)])
  if (errors !== undefined) {
    expect((reply.json() as { errors: unknown }).errors ?? []).toEqual(
      errors.map((error) => expect.objectContaining(error)),
    )
  }
  expect(await rows()).toEqual(before)
  isChanged = false
})

test('Upserts: a conflict with a record that cannot be seen has the response of a POST', async () => {
  for (const [path, body] of [
    ['product/?on_conflict=code', { code: 'gone', name: 'x' }],
    ['report/?on_conflict=serial', { serial: 3, code: 'x' }],
    ['product/?on_conflict=sku', { code: 'c', name: 'x', sku: 's3', secret: 'x1' }],
  ] as const) {
    const [upserted, created] = [await api(`POST ${path}`, body), await api(`POST ${path.replace(/\?.*/, '')}`, body)]
    expect([upserted.status, upserted.text]).toEqual([409, created.text])
  }
})

test('Upserts: without the permission to create, records can be updated', async () => {
  const updated = await api('POST country/?on_conflict=code', { code: 'ch', name: 'x' }, { as: '7' })
  expect([updated.status, updated.json()]).toEqual([200, expect.objectContaining({ name: 'x' })])
})

test('Upserts: the access rule must permit both POST and PATCH', async () => {
  expect((await api('POST contact/', { mail: 'b@x', text: 'new' })).status).toBe(201)
  const manager = { as: '1 manager' }
  expect((await api('POST contact/?on_conflict=mail', { mail: 'b@x', text: 'newer' }, manager)).status).toBe(200)
  expect((await api('POST contact/?on_conflict=mail', { mail: 'c@x', text: 'new' }, manager)).status).toBe(201)
})

test('Upserts: preconditions apply to the record that is updated', async () => {
  const path = 'task/?on_conflict=project_id,number'
  const { etag = '' } = (await api('GET task/1/', undefined, { as: '1 manager' })).headers
  const body = { project_id: 1, number: 1, title: 'new' }
  const send = (headers: Record<string, string>, more = {}) =>
    api(`POST ${path}`, { ...body, ...more }, { as: '1 manager', headers })
  expect((await send({ 'If-Match': '"other"' })).status).toBe(412)
  expect((await send({ 'If-Match': etag, 'If-None-Match': '*' })).status).toBe(412)
  expect((await send({ 'If-Match': etag })).status).toBe(200)
  expect((await send({ 'If-Match': etag })).status).toBe(412)
  // There is no record that could match.
  expect((await send({ 'If-Match': '*' }, { number: 2, title: null })).status).toBe(412)
  expect((await send({ 'If-None-Match': '*' }, { number: 2, title: null })).status).toBe(201)
})

test('Upserts: texts are compared exactly, whatever the collation of the index is', async () => {
  const reply = await api('POST product/?on_conflict=code', { code: 'A', name: 'upper' })
  if (isPostgres) expect([reply.status, reply.json()]).toEqual([201, expect.objectContaining({ code: 'A' })])
  else
    expect([reply.status, reply.json()]).toEqual([
      409,
      expect.objectContaining({ errors: [expect.objectContaining({ field: 'code' })] }),
    ])
  expect((await api('GET product/1/')).json()).toMatchObject({ code: 'a', name: 'apple' })
})

test('Upserts: the response includes related records', async () => {
  const updated = await api('POST detail/?on_conflict=product_id&include=product', { product_id: 1, text: 'x' })
  expect([updated.status, updated.json()]).toEqual([
    200,
    expect.objectContaining({ product: expect.objectContaining({ code: 'a' }) }),
  ])
  const created = await api('POST detail/?include=product&on_conflict=product_id', { product_id: 2, text: 'x' })
  expect([created.status, created.json()]).toEqual([
    201,
    expect.objectContaining({ product: expect.objectContaining({ code: 'b' }) }),
  ])
})

test('Upserts: a record is found by the values that it has now', async () => {
  await world.sql(`UPDATE "product" SET "sku" = 's9' WHERE "id" = 1`)
  const reply = await api('POST product/?on_conflict=sku', { code: 'c', name: 'new', sku: 's1' })
  expect(reply.status).toBe(201)
})

test('Upserts: without the constraint in the database, several records with the same values are 409', async () => {
  const { indices } = world.dataSource.getMetadata(Slot)
  await world.sql(`DROP INDEX "${indices[0]?.name}"${isMariadb ? ' ON "slot"' : ''}`)
  for (const name of ['x', 'x', 'y']) await api('POST slot/', { name })
  const refused = await api('POST slot/?on_conflict=name', { name: 'x' })
  expect([refused.status, refused.json()]).toEqual([
    409,
    expect.objectContaining({ detail: 'several slot records have the same name' }),
  ])
  expect((await api('POST slot/?on_conflict=name', { name: 'y' })).status).toBe(200)
})

test('Upserts: a unique index is used without its condition', async () => {
  await api('POST ticket/', { name: 'x', open: false })
  const found = await api('POST ticket/?on_conflict=name', { name: 'x' })
  expect([found.status, found.json()]).toEqual([200, { id: 1, name: 'x', open: false }])
  if (isMariadb) return
  await api('POST ticket/', { name: 'x' })
  expect((await api('POST ticket/?on_conflict=name', { name: 'x' })).status).toBe(409)
})

test.each(['product', 'tag'])('Upserts: 20 at the same time create one %s', async (resource) => {
  const field = resource === 'product' ? 'code' : 'name'
  const before = await count(resource)
  const bodies = Array.from({ length: 20 }, (_, price) => ({
    [field]: 'same',
    ...(resource === 'product' ? { name: 'x', price } : { color: 'red' }),
  }))
  const replies = await Promise.all(bodies.map((body) => api(`POST ${resource}/?on_conflict=${field}`, body)))
  expect(replies.map(({ status }) => status).toSorted()).toEqual([...Array<number>(19).fill(200), 201])
  expect(await count(resource)).toBe(before + 1)
  expect(new Set(replies.map((reply) => (reply.json() as { id: number }).id)).size).toBe(1)
  if (resource === 'tag') {
    // What the listeners of a failed INSERT have written is rolled back.
    const events = await world.sql('SELECT "event" FROM "audit" ORDER BY "event"')
    expect(events.map(({ event }) => event)).toEqual(['insert'])
  }
})

test('Upserts: updates and deletions at the same time leave one record or none', async () => {
  for (let round = 0; round < 5; round++) {
    const name = `round${round}`
    const { id } = (await api('POST tag/', { name })).json() as { id: number }
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        index % 4 === 2 ? api(`DELETE tag/${id}/`) : api('POST tag/?on_conflict=name', { name, color: 'red' }),
      ),
    )
    for (const { status } of replies) expect([200, 201, 204, 404, 409]).toContain(status)
    expect(replies.filter(({ status }) => status === 204)).toHaveLength(1)
    expect((await world.sql(`SELECT * FROM "tag" WHERE "name" = '${name}'`)).length).toBeLessThanOrEqual(1)
  }
})

test('Upserts: an array is written in order, in one transaction', async () => {
  const bodies = [
    { code: 'b', title: 'new' },
    { code: 'a', rank: 9 },
    // The records before it count.
    { code: 'b', rank: 8 },
  ]
  expect((await api('POST article/?on_conflict=code&dry_run=true', { code: 'a' })).status).toBe(400)
  const dry = await api('POST article/?on_conflict=code&dry_run=true', bodies)
  expect([dry.status, dry.json()]).toEqual([
    200,
    { meta: { model: 'article', created: 1, updated: 2, dry_run: true }, objects: [] },
  ])
  // One record cannot be checked only, and must not be written.
  expect((await api('POST article/?on_conflict=code&dry_run=true', { code: 'a', rank: 9 })).status).toBe(400)
  expect(await count('article')).toBe(3)
  const reply = await api('POST article/?on_conflict=code', bodies)
  expect(reply.status).toBe(200)
  const { objects } = (await api('GET article/?code=b')).json() as { objects: readonly { id: number }[] }
  const [created] = objects
  expect(reply.json()).toEqual({
    meta: { model: 'article', created: 1, updated: 2 },
    objects: [{ id: created?.id }, { id: 1 }, { id: created?.id }],
  })
  expect(created).toMatchObject({ title: 'new', rank: 8 })
  expect((await api('GET article/1/')).json()).toMatchObject({ title: 'old', rank: 9 })
  expect((await api('POST article/?on_conflict=code', [])).json()).toMatchObject({ meta: { created: 0, updated: 0 } })
})

test.each([
  [
    [{ code: 'b', title: 'x' }, { code: 'c' }, { code: 'a', rank: 'x' }, { title: 'x' }],
    400,
    [
      { index: 1, field: 'title' },
      { index: 2, field: 'rank' },
      { index: 3, field: 'code' },
    ],
  ],
  [
    [
      { code: 'b', title: 'x' },
      { code: 'hidden', title: 'x' },
    ],
    409,
    [{ index: 1, field: 'code' }],
  ],
  [
    [
      { code: 'a', rank: 2 },
      { code: 'b', title: 'x', rank: 2 },
    ],
    409,
    [{ index: 1, field: 'rank' }],
  ],
  [
    [
      { code: 'b', title: 'x', rank: 2 },
      { code: 'a', rank: 2 },
    ],
    409,
    [{ index: 1, field: 'rank' }],
  ],
  [
    [
      { code: 'b', title: 'x' },
      { code: 'locked', title: 'x' },
    ],
    403,
    [{ index: 1, field: '' }],
  ],
  [
    [{ code: 'locked', title: 'x' }, { code: 'hidden', title: 'x' }, { code: 'c' }],
    400,
    [{ index: 0 }, { index: 1 }, { index: 2 }],
  ],
  [
    [
      { code: 'b', title: 'x' },
      { code: 'a', title: 'refused' },
    ],
    409,
    [{ index: 1, field: 'title' }],
  ],
  [[{ code: 'b', title: 'x' }, 5], 400, undefined],
] as const)('Upserts: the array %j is refused by %d, and nothing is written', async (bodies, status, errors) => {
  const rows = () => world.sql('SELECT * FROM "article" ORDER BY "id"')
  const before = await rows()
  const reply = await api('POST article/?on_conflict=code', bodies)
  expect([reply.status, reply.text]).toEqual([status, expect.any(String)])
  if (errors !== undefined) expect(reply.json()).toMatchObject({ errors })
  expect(await rows()).toEqual(before)
})

test('Upserts: arrays need the option "bulk", and include nothing', async () => {
  expect((await api('POST product/?on_conflict=code', [{ code: 'a' }])).status).toBe(400)
  const refused = await api('POST project/?on_conflict=name', [{ name: 'a' }])
  expect(refused.status).toBe(400)
})

test.each([
  [
    'application/x-ndjson',
    '{"code":"b","title":"new"}\n{"code":"a","rank":9}\n',
    '{"code":"b","title":"new"}\n{"code":"c"}\n',
  ],
  ['text/csv', 'code,title,rank\r\nb,new,\r\na,old,9\r\n', 'code,title,rank\r\nlocked,x,1\r\n'],
] as const)('Upserts: a file of the type %s', async (type, file, wrong) => {
  const headers = { 'Content-Type': type }
  const path = 'POST article/?on_conflict=code'
  const dry = await api(`${path}&dry_run=true`, file, { headers })
  expect([dry.status, dry.json()]).toEqual([200, { meta: { model: 'article', created: 1, updated: 1, dry_run: true } }])
  const refused = await api(path, wrong, { headers })
  expect([refused.status, refused.json()]).toEqual([
    type === 'text/csv' ? 403 : 400,
    expect.objectContaining({ errors: [expect.objectContaining({ line: 2 })] }),
  ])
  expect(await count('article')).toBe(3)
  const reply = await api(path, file, { headers })
  expect([reply.status, reply.json()]).toEqual([200, { meta: { model: 'article', created: 1, updated: 1 } }])
  expect((await api('GET article/1/')).json()).toMatchObject({ title: 'old', rank: 9 })
  expect((await api('GET article/?code=b')).json()).toMatchObject({ objects: [{ title: 'new', rank: null }] })
})

test('Upserts: arrays with the same values at the same time create each record once', async () => {
  const bodies = Array.from({ length: 10 }, (_, index) => ({ code: `same${index}`, title: 'x' }))
  const replies = await Promise.all(Array.from({ length: 4 }, () => api('POST article/?on_conflict=code', bodies)))
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(await count('article')).toBe(13)
  expect(new Set(replies.map((reply) => JSON.stringify((reply.json() as { objects: unknown }).objects))).size).toBe(1)
})

test('Upserts: an Idempotency-Key replays the response, of an update only while the record is visible', async () => {
  const headers = { 'Idempotency-Key': `"${Math.random()}"` }
  const path = 'POST report/?on_conflict=company,code'
  const body = { company: 1, code: 'r', pages: 5 }
  const first = await api(path, body, { headers })
  const again = await api(path, body, { headers })
  expect([first.status, again.status, again.text, again.headers['idempotent-replayed']]).toEqual([
    200,
    200,
    first.text,
    'true',
  ])
  await world.sql('UPDATE "report" SET "company" = 5 WHERE "id" = 1')
  expect((await api(path, body, { headers })).status).toBe(404)
})

test('Upserts: in a batch, the result of an update names its record, which is included and must be visible in replays', async () => {
  const headers = { 'Idempotency-Key': `"${Math.random()}"` }
  const post = (path: string, body: object): object => ({ method: 'POST', path: `/api/${path}`, body })
  const operations = [
    post('detail/?on_conflict=product_id&include=product', { product_id: 1, text: 'x' }),
    post('report/?on_conflict=company,code', { company: 1, code: 'r', pages: 5 }),
  ]
  const first = await api('POST -/batch', operations, { headers })
  expect([first.status, first.json()]).toMatchObject([
    200,
    {
      results: [
        { headers: { 'Content-Location': '/api/detail/1/' }, body: { product: { code: 'a' } } },
        { headers: { 'Content-Location': '/api/report/1/' }, body: { pages: 5 } },
      ],
    },
  ])
  expect((await api('POST -/batch', operations, { headers })).text).toBe(first.text)
  await world.sql('UPDATE "report" SET "company" = 5 WHERE "id" = 1')
  expect((await api('POST -/batch', operations, { headers })).status).toBe(404)
})

test('Upserts: 8 with different Idempotency-Keys at the same time create one record', async () => {
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      api(
        'POST tag/?on_conflict=name',
        { name: 'keyed' },
        { headers: { 'Idempotency-Key': `"${Math.random()}${index}"` } },
      ),
    ),
  )
  expect(replies.map(({ status }) => status).toSorted()).toEqual([...Array<number>(7).fill(200), 201])
  expect(await count('tag')).toBe(3)
  expect((await world.sql('SELECT "event" FROM "audit"')).map(({ event }) => event)).toEqual(['insert'])
})

test.each([
  ['alone', [] as const],
  ['with an Idempotency-Key', ['Idempotency-Key'] as const],
])('Upserts: in 20 batches at the same time create one record: %s', async (_, names) => {
  const operation = { method: 'POST', path: '/api/tag/?on_conflict=name', body: { name: 'batched' } }
  const headersOf = (index: number) => Object.fromEntries(names.map((name) => [name, `"${Math.random()}${index}"`]))
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, index) => api('POST -/batch', [operation], { headers: headersOf(index) })),
  )
  const statuses = replies.map((reply) => (reply.json() as { results?: { status: number }[] }).results?.[0]?.status)
  expect(statuses.toSorted()).toEqual([...Array<number>(19).fill(200), 201])
  expect(await count('tag')).toBe(3)
})

const none = { 'If-None-Match': '*' }
test.each([
  ['country/fr/', { name: 'France' }, { id: 'fr', code: 'fr', name: 'France' }],
  ['country/fr', { code: 'fr', name: 'France' }, { code: 'fr' }],
  ['country/fr/', { id: 'fr', code: 'fr', name: 'France' }, { code: 'fr' }],
  ['country/%C3%A9%2C/', { name: 'France' }, { id: 'é,', code: 'é,' }],
  ['rate/ch,2021/', { percent: 5 }, { id: 'ch,2021', country_id: 'ch', year: 2021, percent: 5 }],
  ['rate/ch,2021/', { id: 'ch,2021', country_id: 'ch', year: 2021, percent: 5 }, { id: 'ch,2021' }],
] as const)('Upserts: PUT %s %j with If-None-Match: * creates the record', async (path, body, record) => {
  const reply = await api(`PUT ${path}`, body, { headers: none })
  expect([reply.status, reply.json()]).toEqual([201, expect.objectContaining(record)])
  const read = await api(`GET ${path}`)
  expect([read.json(), read.headers.etag]).toEqual([reply.json(), reply.headers.etag])
  const { location = '' } = reply.headers
  expect((await api(`GET ${location.replace('/api/', '')}`)).json()).toEqual(reply.json())
  const repeated = await api(`PUT ${path}`, body, { headers: none })
  expect([repeated.status, repeated.headers.location]).toEqual([412, undefined])
})

test.each([
  // It exists.
  ['1', 'country/ch/', { name: 'x' }, none, 412, undefined],
  ['1', 'country/ch/', { nope: 'x' }, none, 412, undefined],
  ['1', 'country/xx/', { name: 'x' }, none, 409, [{ field: 'code' }]],
  ['1 manager', 'country/xx/', { name: 'x' }, none, 412, undefined],
  // Permissions and preconditions.
  ['7', 'country/fr/', { name: 'x' }, none, 403, undefined],
  ['1', 'country/fr/', { name: 'x', hidden: true }, none, 403, undefined],
  ['1', 'country/fr/', { name: 'x' }, { ...none, 'If-Match': '*' }, 412, undefined],
  // Values.
  [
    '1',
    'country/fr/',
    { code: 'de', name: 'x' },
    none,
    400,
    [{ field: 'code', message: expect.stringMatching('key in the path') }],
  ],
  ['1', 'country/fr/', { code: 5, name: 'x' }, none, 400, [{ field: 'code' }]],
  ['1', 'country/fr/', { id: 'de', name: 'x' }, none, 400, [{ field: 'id' }]],
  ['1', 'country/fr/', {}, none, 400, [{ field: 'name' }]],
  ['1', 'country/longer/', { name: 'x' }, none, 400, [{ field: 'code' }]],
  ['1', 'rate/de,2021/', { percent: 5 }, none, 400, [{ field: 'country_id' }]],
  ['1', 'rate/ch/', { percent: 5 }, none, 404, undefined],
  ['1', 'rate/ch,x/', { percent: 5 }, none, 404, undefined],
  // Other requests create nothing.
  ['1', 'country/fr/', { name: 'x' }, {}, 404, undefined],
  ['1', 'country/fr/', { name: 'x' }, { 'If-None-Match': '"x"' }, 404, undefined],
  ['1', 'product/99/', { code: 'c', name: 'x' }, none, 404, undefined],
  ['1', 'product/1/', { code: 'c', name: 'x' }, none, 412, undefined],
  ['1', 'contact/new/', { text: 'x' }, none, 401, undefined],
] as const)('Upserts: as %s, PUT %s %j with %j is refused by %d', async (who, path, body, headers, status, errors) => {
  const rows = () =>
    Promise.all(
      ['country', 'rate', 'product', 'contact'].map((table) => world.sql(`SELECT * FROM "${table}" ORDER BY 1`)),
    )
  const before = await rows()
  const reply = await api(`PUT ${path}`, body, { as: who, headers })
  expect([reply.status, reply.text]).toEqual([status, expect.any(String)])
  if (errors !== undefined) {
    expect((reply.json() as { errors: unknown }).errors).toEqual(errors.map((error) => expect.objectContaining(error)))
  }
  expect(await rows()).toEqual(before)
  isChanged = false
})

test('Upserts: PATCH with If-None-Match: * creates nothing', async () => {
  expect((await api('PATCH country/fr/', { name: 'x' }, { headers: none })).status).toBe(404)
})

test('Upserts: of 20 PUTs with If-None-Match: * at the same time, one creates the record', async () => {
  const work = Array.from({ length: 20 }, (_, index) => api('PUT country/fr/', { name: `${index}` }, { headers: none }))
  const statuses = (await Promise.all(work)).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([201, ...Array<number>(19).fill(412)])
})

test('Upserts: the OpenAPI document has the parameter, the header and the responses', async () => {
  const { paths } = (await api('GET openapi.json')).json() as {
    paths: Record<
      string,
      Record<string, { parameters: readonly { name: string; schema: unknown }[]; responses: object }>
    >
  }
  const namesIn = (path: string) => paths[path]?.['post']?.parameters.find(({ name }) => name === 'on_conflict')?.schema
  expect(namesIn('/product')).toEqual({ type: 'string', enum: ['code', 'sku'] })
  expect(namesIn('/task')).toEqual({ type: 'string', enum: ['project_id,number'] })
  expect(namesIn('/memo')).toEqual({ type: 'string', enum: ['person_id,title', 'slug'] })
  expect(namesIn('/plain')).toBeUndefined()
  const statusesOf = (path: string, method: string) => Object.keys(paths[path]?.[method]?.responses ?? {})
  expect(statusesOf('/product', 'post')).toEqual(expect.arrayContaining(['200', '201', '412']))
  expect(statusesOf('/task', 'post')).toEqual(expect.arrayContaining(['428']))
  expect(statusesOf('/plain', 'post')).not.toContain('200')
  expect(statusesOf('/country/{id}', 'put')).toEqual(expect.arrayContaining(['200', '201']))
  expect(statusesOf('/country/{id}', 'patch')).not.toContain('201')
  expect(statusesOf('/product/{id}', 'put')).not.toContain('201')
})
