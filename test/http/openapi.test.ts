import { randomUUID } from 'node:crypto'
import Ajv2020 from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import type Koa from 'koa'
import { Column, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { entities, User } from '../../sample/entities'
import { type Reply, type SendOptions, send } from '../client'
import { permitAll } from '../support/access'
import { seedSample } from '../world/sample'
import { openWorld, type World } from '../world/world'

class Inner {
  @Column({ default: 'plain' }) kind!: string
  @Column({ default: 'initial-note' }) note!: string
}

/** The parts of an OpenAPI document that the tests read. */
interface Document {
  readonly openapi: string
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, ResponseObject>>
  }
}

interface Schema {
  readonly properties: Readonly<Record<string, { readonly writeOnly?: boolean; readonly readOnly?: boolean }>>
  readonly required?: readonly string[]
}

interface Operation {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
  readonly responses: Readonly<Record<string, ResponseObject>>
  readonly security: readonly object[]
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Readonly<Record<string, unknown>>
}

interface ResponseObject {
  readonly $ref?: string
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
  readonly headers?: Readonly<Record<string, unknown>>
}

let world: World
let document: Document
let ajv: Ajv2020

beforeAll(async () => {
  world = await openWorld({ entities, seed: seedSample })
  document = (await send(world.url, 'GET /api/openapi.json')).json() as Document
  ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats(ajv)
  ajv.addFormat('decimal', true).addFormat('password', true)
  ajv.addSchema({ ...document, $id: 'openapi' })
})
afterAll(() => world.close())

/** Sends the request of an operation, and checks the response against the document. */
async function sendChecked(operationId: string, path: string, options: SendOptions = {}): Promise<Reply> {
  const [method = '', operation] = find(operationId)
  const reply = await send(world.url, `${method.toUpperCase()} ${document.servers[0]?.url}${path}`, options)
  const answer = operation?.responses[String(reply.status)]
  const name = `${operationId} ${path}: ${reply.status} ${reply.text}`
  expect({ name, described: answer !== undefined }).toEqual({ name, described: true })
  const { $ref } = answer ?? {}
  const described = $ref === undefined ? answer : document.components.responses[$ref.split('/').at(-1) ?? '']
  for (const header of Object.keys(described?.headers ?? {}))
    expect(reply.headers).toHaveProperty([header.toLowerCase()])
  if (described?.content === undefined) {
    expect(reply.text).toBe('')
    return reply
  }
  const [type = ''] = String(reply.headers['content-type']).split(';')
  expect(Object.keys(described.content)).toEqual([type])
  const schema = `openapi#/${[...pointer(operationId, method, reply.status, $ref), 'content', type, 'schema'].map(inPointer).join('/')}`
  const validate = ajv.getSchema(schema)
  validate?.(type === 'text/html' ? reply.text : reply.json())
  expect({ name, errors: validate?.errors }).toEqual({ name, errors: null })
  return reply
}

/** The path of a response's schema in the document. */
function pointer(operationId: string, method: string, status: number, $ref: string | undefined): readonly string[] {
  if ($ref !== undefined) return $ref.slice(2).split('/')
  const path = Object.entries(document.paths).find(([, item]) => item[method]?.operationId === operationId)?.[0] ?? ''
  return ['paths', path, method, 'responses', String(status)]
}

const inPointer = (part: string): string => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))

function find(operationId: string): readonly [string, Operation | undefined] {
  for (const item of Object.values(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (operation.operationId === operationId) return [method, operation]
    }
  }
  return ['', undefined]
}

const names = ['language', 'country', 'city', 'user', 'visit']
const readers: Readonly<Record<string, SendOptions>> = { user: { as: 'ann' }, visit: { as: 'bob' } }

test('the document contains all resources, and nothing else', () => {
  expect(document.openapi).toBe('3.1.0')
  expect(Object.keys(document.paths)).toEqual(names.flatMap((name) => [`/${name}`, `/${name}/{id}`]))
})

test('a read-only resource has no writing operations', () => {
  expect(Object.keys(document.paths['/language'] ?? {})).toEqual(['get'])
  expect(Object.keys(document.components.schemas).filter((name) => name.startsWith('language'))).toEqual([
    'language',
    'language.selected',
    'language.list',
    'language.selected.list',
    'language.meta',
  ])
})

test('excluded fields are only in the schemas of request bodies', () => {
  const { schemas } = document.components
  for (const name of ['password', 'email']) {
    expect(schemas['user.create']?.properties[name]).toMatchObject({ writeOnly: true })
    expect(schemas['user.update']?.properties[name]).toMatchObject({ writeOnly: true })
  }
  const { 'user.create': create, 'user.update': update, ...others } = schemas
  const rest = JSON.stringify({ ...document, components: { ...document.components, schemas: others } })
  expect(rest).not.toMatch(/password|email/)
})

@Entity()
@Resource({ exclude: ['grade', 'token', 'inner.note'] })
class Sealed {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 7 }) grade!: number
  @Column({ default: 'initial-secret' }) token!: string
  @Column(() => Inner) inner!: Inner
}

test('the document does not contain the default of a hidden field', async () => {
  const sealed = await openWorld({ entities: [Sealed], mount: { defaultAuth: permitAll } })
  const { text, json } = await send(sealed.url, 'GET /api/openapi.json')
  await sealed.close()
  expect(text).not.toMatch(/initial-secret|initial-note/)
  const { schemas } = (json() as Document).components
  expect(schemas['sealed.create']?.properties).toMatchObject({
    grade: expect.not.objectContaining({ default: 7 }),
    token: { writeOnly: true },
    inner: { properties: { note: { writeOnly: true }, kind: { default: 'plain' } } },
  })
  expect(schemas['sealed']?.properties).toEqual({
    id: expect.anything(),
    inner: { type: 'object', properties: { kind: expect.anything() }, required: ['kind'] },
  })
})

@Entity()
@Resource({ exclude: ['once'] })
class Crate {
  @PrimaryColumn() shelf!: string
  @PrimaryColumn('int') place!: number
  @Column('simple-array') marks!: string[]
  @Column(() => Inner) inner!: Inner
  @Column({ default: '', update: false }) once!: string
  @Column('varchar') seal: string = randomUUID()
}

describe('bodies', () => {
  let crates: World
  let validate: Ajv2020
  let schemas: Document['components']['schemas']
  beforeAll(async () => {
    crates = await openWorld({ entities: [Crate], mount: { defaultAuth: permitAll } })
    const described = (await send(crates.url, 'GET /api/openapi.json')).json() as Document
    schemas = described.components.schemas
    validate = new Ajv2020({ strict: false }).addSchema({ ...described, $id: 'crates' })
  })
  afterAll(() => crates.close())

  const full = { shelf: 'a', place: 1, marks: ['red'], inner: { kind: 'x' } }
  const bodies: readonly (readonly [object, boolean])[] = [
    [full, true],
    [{ ...full, place: 2, once: 'x' }, true],
    [{ ...full, place: 3, inner: { nope: 1 } }, false],
    [{ ...full, place: 4, marks: [''] }, false],
    [{ ...full, place: 5, marks: ['red,blue'] }, false],
  ]
  test.each(bodies)('%j is valid by the schema if and only if the service accepts it', async (body, isOne) => {
    const { status } = await send(crates.url, 'POST /api/crate/', { body })
    expect(status).toBe(isOne ? 201 : 400)
    expect(validate.validate({ $ref: 'crates#/components/schemas/crate.create' }, body)).toBe(isOne)
  })

  test('a hidden field that cannot be updated is not in the schema of updates', () => {
    expect(schemas['crate.create']?.properties).toMatchObject({ once: { writeOnly: true } })
    expect(schemas['crate.update']?.properties).not.toHaveProperty('once')
  })

  test('a default that differs for each record is not in the document', () => {
    expect(schemas['crate.create']?.properties).toMatchObject({
      seal: expect.not.objectContaining({ default: expect.anything() }),
    })
  })

  test('the example of a key of several columns is valid', async () => {
    const id = schemas['crate']?.properties['id'] as { readonly examples: readonly string[] }
    const [example] = id.examples
    expect((await send(crates.url, `GET /api/crate/?id=${example}`)).status).toBe(200)
  })
})

@Entity()
@Resource({ auth: permitAll, rename: { pen: 'writer' } })
class Letter {
  @PrimaryGeneratedColumn() id!: number
  @Column() pen!: string
  @ManyToOne(() => User) writer!: User
}

@Entity()
@Resource({ ownerField: 'keeper', exclude: ['keeper'] })
class Diary {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => User) keeper!: User
}

test('a foreign key whose relation has the name of another field is joined by the name of its column; a hidden owner is in no body', async () => {
  const letters = await openWorld({ entities: [...entities, Letter, Diary] })
  const { text, json } = await send(letters.url, 'GET /api/openapi.json')
  const { parameters = [] } = (json() as Document).paths['/letter']?.['get'] ?? {}
  const joined = parameters.map(({ name }) => name).filter((name) => name.endsWith('__username'))
  const { status } = await send(letters.url, `GET /api/letter/?${joined[0]}=ann`)
  await letters.close()
  expect([joined, status]).toEqual([['writer_id__username'], 200])
  expect(text).not.toMatch(/keeper/)
})

test('required, read-only and optional fields are described', () => {
  const { schemas } = document.components
  const required = (name: string): unknown => schemas[name]?.required?.toSorted()
  expect(required('city.create')).toEqual(['country_id', 'latitude', 'longitude', 'name', 'population'])
  expect(required('visit.create')).toEqual(['city_id', 'rating'])
  expect(schemas['visit.create']?.properties).toMatchObject({
    note: { type: 'string', maxLength: 500, default: '' },
    rating: { type: 'integer', minimum: 1, maximum: 5 },
    user_id: { readOnly: true, 'x-resource': 'user' },
  })
  expect(schemas['visit.create']?.properties).not.toHaveProperty('id')
  expect(schemas['visit.update']?.properties).toMatchObject({ id: { readOnly: true } })
  expect(schemas['country']?.properties).toMatchObject({ capital: { type: ['string', 'null'], maxLength: 60 } })
})

test('the parameters for ordering, pages and their limits are described', () => {
  const { parameters = [] } = find('country.list')[1] ?? {}
  const schemaOf = (name: string): unknown => parameters.find((one) => one.name === name)?.schema
  expect(schemaOf('ordering')).toMatchObject({
    items: { anyOf: [{ enum: expect.arrayContaining(['name', '-name', 'id', '-id']) }, { pattern: '^-?.+__.+$' }] },
  })
  expect(schemaOf('count')).toEqual({ type: 'string', enum: ['exact', 'capped'] })
  expect(schemaOf('or')).toMatchObject({ type: 'string' })
  expect(schemaOf('limit')).toEqual({ type: 'integer', minimum: 0, maximum: 1000, default: 20 })
  expect(schemaOf('page')).toMatchObject({ minimum: 1 })
  const filters = parameters.map(({ name }) => name)
  expect(filters).toEqual(
    expect.arrayContaining(['name__ilike', 'landlocked__is', 'languages__code', 'borders__languages__code__like']),
  )
  expect(filters).not.toContain('landlocked__lt')
  const visits = find('visit.list')[1]?.parameters.map(({ name }) => name)
  expect(visits).toEqual(
    expect.arrayContaining(['city__country__region', 'city__country__region__like', 'user__username']),
  )
  expect(visits).not.toContain('user__email')
})

test('the access rules are described', () => {
  expect(find('city.list')[1]?.security).toEqual([])
  expect(find('city.create')[1]?.security).toEqual([{ basic: [] }])
  expect(find('visit.list')[1]?.security).toEqual([{ basic: [] }])
})

/** A value that is valid by the schema of a parameter. */
function valueFor({ schema }: Parameter): string {
  const { type, enum: members, items, minimum, examples, pattern, format, anyOf } = schema
  if (Array.isArray(anyOf)) return valueFor({ name: '', in: '', schema: anyOf[0] as Parameter['schema'] })
  if (type === 'array') return valueFor({ name: '', in: '', schema: items as Parameter['schema'] })
  if (Array.isArray(members)) return String(members[0])
  if (Array.isArray(examples)) return String(examples[0])
  if (type === 'boolean') return 'true'
  if (type === 'integer' || type === 'number') return String(Math.max(Number(minimum ?? 1), 1))
  if (pattern !== undefined || format !== undefined) return '2024-02-29'
  return 'a'
}

/** All members of a list: the schema describes records with all fields. */
const membersOf = ({ schema }: Parameter): string => String(Object(schema['items']).enum)

/** Values of parameters by resource, where the schema alone does not determine one. */
const unusual: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  after: Object.fromEntries(names.map((name) => [name, ''])),
  // The reader may not read users.
  include: { visit: 'city' },
}

test.each(names)('a list of %s accepts each of its described parameters', async (name) => {
  const { parameters = [] } = find(`${name}.list`)[1] ?? {}
  expect(parameters.length).toBeGreaterThan(20)
  for (const parameter of parameters.filter((one) => one.in === 'query')) {
    const value =
      { ...unusual[parameter.name] }[name] ?? (parameter.name === 'fields' ? membersOf(parameter) : valueFor(parameter))
    const path = `/${name}?${parameter.name}=${encodeURIComponent(value)}`
    const reply = await sendChecked(`${name}.list`, path, readers[name])
    expect({ path, status: reply.status, text: reply.text }).toMatchObject({ path, status: 200 })
  }
})

test.each(names)('a record of %s matches its schema', async (name) => {
  const reader = readers[name] ?? {}
  const { headers } = await sendChecked(`${name}.read`, `/${name}/1`, reader)
  await sendChecked(`${name}.read`, `/${name}/1`, { ...reader, headers: { 'If-None-Match': String(headers['etag']) } })
  await sendChecked(`${name}.read`, `/${name}/1`, { ...reader, headers: { 'If-Match': '"other"' } })
  await sendChecked(`${name}.read`, `/${name}/99`, reader)
  await sendChecked(`${name}.list`, `/${name}?nope=1`, reader)
  const page = await sendChecked(`${name}.list`, `/${name}`, reader)
  const unchanged = { ...reader, headers: { 'If-None-Match': String(page.headers['etag']) } }
  expect((await sendChecked(`${name}.list`, `/${name}`, unchanged)).status).toBe(304)
  if (reader.as !== undefined) await sendChecked(`${name}.list`, `/${name}`)
})

/** For each resource a record to create, a change, and invalid values, all by the document. */
const writes: readonly { name: string; as: string; other: string; body: object; change: object; wrong: object }[] = [
  {
    name: 'country',
    as: 'ann',
    other: 'bob',
    body: {
      code: 'FRA',
      name: 'France',
      region: 'Europe',
      subregion: 'Western Europe',
      area: 551_695,
      landlocked: false,
      capital: null,
    },
    change: { capital: 'Paris' },
    wrong: { area: 'large' },
  },
  {
    name: 'city',
    as: 'ann',
    other: 'bob',
    body: { name: 'Porto', population: 231_800, latitude: 41.16, longitude: -8.63, country_id: 2 },
    change: { population: 231_962 },
    wrong: { country_id: 77 },
  },
  {
    name: 'user',
    as: 'ann',
    other: 'bob',
    body: { username: 'eve', password: 'eve', email: 'eve@example.org' },
    change: { active: false },
    wrong: { username: 5 },
  },
  {
    name: 'visit',
    as: 'bob',
    other: 'ann',
    body: { rating: 5, city_id: 1, visited: '2024-02-29 10:20:30' },
    change: { note: 'Again' },
    wrong: { rating: 70_000 },
  },
]

const fits = (schema: string, body: object): unknown => {
  const validate = ajv.compile({ $ref: `openapi#/components/schemas/${schema}` })
  return validate(body) ? 'fits' : validate.errors
}

test.each(writes)('writes of $name match the schemas', async ({ name, as, other, body, change, wrong }) => {
  expect(fits(`${name}.create`, body)).toBe('fits')
  expect(fits(`${name}.update`, change)).toBe('fits')
  await sendChecked(`${name}.create`, `/${name}`, { body })
  await sendChecked(`${name}.create`, `/${name}`, { as, body: {} })
  await sendChecked(`${name}.create`, `/${name}`, { as, body: { ...body, nope: 1 } })
  expect(fits(`${name}.create`, { ...body, nope: 1 })).not.toBe('fits')
  await sendChecked(`${name}.create`, `/${name}`, { as, body, headers: { Origin: 'https://evil.example' } })
  await sendChecked(`${name}.create`, `/${name}`, { as, body: 'a', headers: { 'Content-Type': 'text/plain' } })
  await sendChecked(`${name}.create`, `/${name}`, { as, body: { text: 'x'.repeat(1_100_000) } })
  const created = await sendChecked(`${name}.create`, `/${name}`, { as, body })
  expect(created.status).toBe(201)
  const { id } = created.json() as { readonly id: number }
  const path = `/${name}/${id}`
  // A record that was read can be sent back (specification: Sending back what was read).
  expect(fits(`${name}.update`, created.json() as object)).toBe('fits')
  for (const operation of [`${name}.update`, `${name}.patch`]) {
    expect((await sendChecked(operation, path, { as, body: change })).status).toBe(200)
    await sendChecked(operation, path, { as, body: wrong })
    await sendChecked(operation, path, { body: change })
    await sendChecked(operation, path, { as: other, body: change })
    await sendChecked(operation, path, { as, body: change, headers: { 'If-Match': '"other"' } })
    await sendChecked(operation, `/${name}/99`, { as, body: change })
  }
  await sendChecked(`${name}.delete`, path)
  await sendChecked(`${name}.delete`, path, { as: other })
  await sendChecked(`${name}.delete`, path, { as, headers: { 'If-Match': '"other"' } })
  expect((await sendChecked(`${name}.delete`, path, { as })).status).toBe(204)
  await sendChecked(`${name}.delete`, path, { as })
})

test('the responses of upserts are described', async () => {
  const path = '/country?on_conflict=code'
  const parameter = find('country.create')[1]?.parameters.find(({ name }) => name === 'on_conflict')
  expect(parameter?.schema).toEqual({ type: 'string', enum: ['code', 'name'] })
  expect((await sendChecked('country.create', path, { as: 'ann', body: { code: 'PRT', area: 92_212 } })).status).toBe(
    200,
  )
  await sendChecked('country.create', path, { as: 'ann', body: { code: 'PRT', area: 'x' } })
  const headers = { 'If-Match': '"other"' }
  expect((await sendChecked('country.create', path, { as: 'ann', body: { code: 'PRT' }, headers })).status).toBe(412)
  await sendChecked('country.create', '/country?on_conflict=area', { as: 'ann', body: {} })
})

test('the response to a conflict is described', async () => {
  const twin = { code: 'PRT', name: 'Twin', region: 'x', subregion: 'x', area: 1, landlocked: true }
  expect((await sendChecked('country.create', '/country', { as: 'ann', body: twin })).status).toBe(409)
  expect((await sendChecked('country.delete', '/country/2', { as: 'ann' })).status).toBe(409)
})

test('the document is sent in bytes: encoding megabytes for each request would block the process', async () => {
  const bodies: unknown[] = []
  const before = (app: Koa): void => {
    app.use(async (context, next) => {
      await next()
      bodies.push(context.body)
    })
  }
  const other = await openWorld({ entities, before })
  try {
    const { text, headers } = await send(other.url, 'GET /api/openapi.json')
    expect(bodies.map((body) => Buffer.isBuffer(body))).toEqual([true])
    const head = await send(other.url, 'HEAD /api/openapi.json')
    expect([head.text, head.headers['content-length']]).toEqual(['', String(Buffer.byteLength(text))])
    expect(head.headers['content-type']).toBe(headers['content-type'])
  } finally {
    await other.close()
  }
})

test('other requests run while the document is built, and requests at the same time share it', async () => {
  const site = await openWorld({ entities })
  let turn = 0
  let timer = setImmediate(function count() {
    turn++
    timer = setImmediate(count)
  })
  const turns = new Set<number>()
  const { stringify } = JSON
  /** Number of paths that were rendered. */
  let built = 0
  const spy = jest.spyOn(JSON, 'stringify').mockImplementation((value, ...others) => {
    turns.add(turn)
    if ('get' in Object(value)) built++
    const end = performance.now() + 1
    while (performance.now() < end);
    return stringify(value, ...(others as []))
  })
  const replies = await Promise.all(Array.from({ length: 3 }, () => send(site.url, 'GET /api/openapi.json')))
  spy.mockRestore()
  clearImmediate(timer)
  const [text = '', ...others] = replies.map((reply) => reply.text)
  expect(others.every((other) => other === text)).toBe(true)
  const readable = Object.values((JSON.parse(text) as Document).paths).filter((item) => 'get' in item)
  // Without pauses, the document is rendered in one step.
  expect([turns.size > 5, built]).toEqual([true, readable.length])
  await site.close()
})
