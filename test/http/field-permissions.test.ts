import type { DataSource } from 'typeorm'
import { mountResources } from 'typeorm-resources'
import { agencyEntities, byHeader, withFields, withoutFields } from '../agency/entities'
import { seedAgency } from '../agency/seed'
import { type Reply, send } from '../client'
import { openWorld, type World } from '../world/world'

/**
 * Field permissions: a field that a principal may not read does not exist, and one that the principal may not write is
 * read-only. Every response is the same as that of a mount with the options `exclude` and `readOnly`.
 */

const people = [1, 2, 3, 4, undefined] as const
type Person = number | undefined

const options = { defaultAuth: byHeader, openapi: byHeader }
/** Path of the mount that shows what one person may see, without field permissions. */
const prefixOf = (person: Person): string => `/as-${person ?? 'anonymous'}`

let world: World
/** Has the same data, and a mount for each person. */
let reference: World
beforeAll(async () => {
  const entities = agencyEntities
  const seed = (dataSource: DataSource): Promise<void> => seedAgency(dataSource)
  world = await openWorld({ entities, seed, mount: { ...options, resources: withFields } })
  reference = await openWorld({
    entities,
    seed,
    mountOn: (app, dataSource) => {
      const mounts = people.map((person) =>
        mountResources(app, dataSource, { ...options, prefix: prefixOf(person), resources: withoutFields(person) }),
      )
      return mounts[0] ?? { resources: [] }
    },
  })
})
afterAll(async () => {
  for (const { close, faults } of [world, reference]) {
    await close()
    expect(faults).toEqual([])
  }
})

interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

function as(person: Person, line: string, { body, headers = {} }: Sent = {}, url = world.url): Promise<Reply> {
  return send(url, line, { body, headers: person === undefined ? headers : { ...headers, 'x-person': String(person) } })
}

/** Everything of a response that a client sees. The weak ETag of a list is a digest of its text, whose links differ. */
const seen = ({ status, headers, text }: Reply): unknown => {
  const { date, 'content-length': length, etag, ...others } = headers
  return { status, headers: etag?.startsWith('W/') ? others : { ...others, etag }, text }
}

/** Sends a request to both mounts, and returns the response of the mount with field permissions. */
async function both(person: Person, line: string, sent: Sent = {}): Promise<Reply> {
  const reply = await as(person, line.replace(' ', ' /api'), sent)
  const prefix = prefixOf(person)
  const other = await as(person, line.replace(' ', ` ${prefix}`), sent, reference.url)
  const unprefixed = (text: string): string => text.replaceAll(prefix, '/api')
  const headers = Object.fromEntries(
    Object.entries(other.headers).map(([name, value]) => [name, typeof value === 'string' ? unprefixed(value) : value]),
  )
  const expected = { ...other, headers, text: unprefixed(other.text) }
  if (line === 'GET /openapi.json') delete headers['etag']
  const { etag, ...withoutTag } = reply.headers
  const received = line === 'GET /openapi.json' ? { ...reply, headers: withoutTag } : reply
  expect([person, line, seen(received)]).toEqual([person, line, seen(expected)])
  return reply
}

const restricted = [
  'hourlyRate',
  'pin',
  'badge',
  'address__phone',
  'address',
  'bank__iban',
  'bank',
  'mentor',
  'mentor_id',
  'mentor__name',
  'mentees__name',
  'remarks__text',
  'skills__label',
  'skills',
  'jobs__title',
]
/** Paths from other resources to restricted fields. */
const related: Readonly<Record<string, readonly string[]>> = {
  job: ['worker__hourlyRate', 'worker__bank__iban', 'worker__mentor__name', 'worker__skills__label', 'worker__pin'],
  remark: ['worker__badge', 'worker__address__phone', 'worker__remarks__text', 'worker__mentees__id'],
  skill: ['workers__name', 'workers__hourlyRate', 'workers__id'],
  entrance: ['holder', 'holder_id', 'holder__name', 'holder__badge'],
  diary: ['mood', 'person', 'text'],
  worker: restricted,
}

/** Ways to use the name of a field in a query. */
const usesOf = (name: string): readonly string[] => [
  `${name}=23`,
  `${name}__gte=2&${name}__is=not_null`,
  `${name}__is=null`,
  `${name}__lik=x`,
  `${name}_gte=2`,
  `${name.replaceAll('__', '.')}=2`,
  `or=(${name}:23,id:1)`,
  `and=(${name}__gt:1,${name}__lt:100)`,
  `not=(${name}__in:(21,22))`,
  `ordering=${name}`,
  `ordering=-${name}__nullslast,id`,
  `ordering=${name}&after=&limit=2`,
  `ordering=${name} desc`,
  `count=exact&limit=0&${name}__ne=1`,
  `fields=${name}`,
  `fields=id,${name}&ordering=id`,
]

const queries = Object.entries(related).flatMap(([resource, names]) =>
  names.map((name): [string, string] => [resource, name]),
)

test.each(queries)('Field permissions: queries of %s by %s', async (resource, name) => {
  const statuses = new Set<number>()
  for (const person of people) {
    for (const query of usesOf(name)) {
      statuses.add((await both(person, `GET /${resource}/?${query.replaceAll(' ', '%20')}`)).status)
    }
  }
  expect(statuses).toContain(400)
})

test.each(agencyEntities.map(({ name }) => name.toLowerCase()))(
  'Field permissions: lists and items of %s',
  async (resource) => {
    for (const person of people) {
      await both(person, `GET /${resource}/?limit=1`)
      await both(person, `GET /${resource}/?nope=1`)
      for (const id of [1, 2, 3, 99]) {
        const { headers } = await both(person, `GET /${resource}/${id}/`)
        await both(person, `HEAD /${resource}/${id}/`)
        const tag = { headers: { 'If-None-Match': headers.etag ?? '"x"' } }
        await both(person, `GET /${resource}/${id}/`, tag)
      }
    }
  },
)

test('Field permissions: each person has their own OpenAPI document', async () => {
  const documents = new Map<string, Person>()
  const tags = new Set<unknown>()
  for (const person of people) {
    const reply = await both(person, 'GET /openapi.json')
    documents.set(reply.text, person)
    tags.add(reply.headers.etag)
    const unchanged = await as(person, 'GET /api/openapi.json', {
      headers: { 'If-None-Match': reply.headers.etag ?? '' },
    })
    expect(unchanged.status).toBe(304)
    expect(reply.headers.vary).toContain('Authorization')
    expect(reply.headers['cache-control']).toBe('private, no-cache')
  }
  // Person 4 and anonymous clients have the same permissions.
  expect([documents.size, tags.size]).toEqual([4, 4])
  const text = [...documents].find(([, person]) => person === undefined)?.[0] ?? ''
  expect(text).toMatch(/"text"/)
  expect(text).not.toMatch(/hourlyRate|pin|badge|phone|iban|mentor|remarks|holder|mood|"person/)
})

const bodies: readonly (readonly [line: string, body: object])[] = [
  ['POST /worker/', { id: 10, name: 'New' }],
  ['POST /worker/', { id: 11, name: 'New', hourlyRate: 50 }],
  ['POST /worker/', { id: 12, name: 'New', hourlyRate: 'x', pin: 5, nope: 1 }],
  ['POST /worker/', { id: 13, name: 'New', pin: 'p' }],
  ['POST /worker/', { id: 14, name: 'New', badge: 'badge-1' }],
  ['POST /worker/', { id: 15, name: 'New', address: { city: 'Bonn', phone: '1' }, bank: { iban: 'x' } }],
  ['POST /worker/', { id: 16, name: 'New', address: { city: 'Bonn' } }],
  ['POST /worker/', { id: 17, name: 'New', bank: 5, address__phone: 1, bank__iban: 'x' }],
  ['POST /worker/', { id: 18, name: 'New', mentor_id: 1 }],
  ['POST /worker/', { id: 19, name: 'New', mentor: 1, skills: [1], remarks: [], mentees: [] }],
  ['POST /worker/', { id: 20, mentor_id: 99 }],
  ['POST /worker/', { id: 1, name: 'Taken' }],
  ['PUT /worker/1/', { hourlyRate: 99 }],
  ['PUT /worker/1/', { hourlyRate: 27 }],
  ['PUT /worker/1/', { name: 'Changed' }],
  ['PATCH /worker/1/', { name: 'Changed', hourlyRate: null }],
  ['PATCH /worker/2/', { pin: 'new' }],
  ['PATCH /worker/2/', { pin: 7 }],
  ['PUT /worker/2/', { badge: 'badge-3' }],
  ['PUT /worker/2/', { address: { phone: '7' } }],
  ['PUT /worker/2/', { address: { phone: 7, city: 5 }, bank: { holder: 1 } }],
  ['PUT /worker/3/', { mentor_id: 2 }],
  ['PUT /worker/3/', { mentor_id: 77, name: 5 }],
  ['PUT /job/1/', { title: 'Road' }],
  ['PUT /job/1/', { worker_id: 3 }],
  ['POST /job/', { id: 10, worker_id: 2 }],
  ['POST /entrance/', { id: 10, place: 'east', holder_id: 'badge-2' }],
  ['POST /entrance/', { id: 11, place: 'east' }],
  ['PUT /entrance/1/', { holder_id: 'none', place: 'west' }],
  ['POST /diary/', { id: 10, text: 'snow' }],
  ['POST /diary/', { id: 11, text: 'snow', mood: -1 }],
  ['POST /diary/', { id: 12, text: 'snow', person: 3 }],
  ['PUT /diary/1/', { text: 'wind' }],
  ['PUT /diary/2/', { mood: 1 }],
  ['PUT /diary/2/', { mood: -1, person: 5 }],
]

test.each(bodies)('Field permissions: %s with %j', async (line, body) => {
  for (const [index, person] of people.entries()) {
    // Each person creates another record.
    const { id } = body as { readonly id?: number }
    const own = id === undefined || id < 10 ? body : { ...body, id: id + 100 * index }
    await both(person, line, { body: own })
    const data = new URLSearchParams({
      data: JSON.stringify(id === undefined ? own : { ...own, id: id + 1000 + index }),
    })
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    await both(person, line, { body: String(data), headers })
    if (line.startsWith('P') && id === undefined) await both(1, line.replace(/^\w+/, 'GET'))
  }
})

test.each([
  [1, ['id', 'name', 'hourlyRate', 'pin', 'badge', 'address', 'bank', 'mentor_id'], ['city', 'phone']],
  [2, ['id', 'name', 'hourlyRate', 'address'], ['city', 'phone']],
  [3, ['id', 'name', 'address', 'mentor_id'], ['city', 'phone']],
  [4, ['id', 'name', 'address'], ['city']],
  [undefined, ['id', 'name', 'address'], ['city']],
] as const)('Field permissions: a record for person %s has the members %j', async (person, members, address) => {
  const { objects } = (await as(person, 'GET /api/worker/')).json() as { objects: { address: object }[] }
  const item = (await as(person, 'GET /api/worker/1/')).json() as { address: object }
  for (const record of [...objects, item]) {
    expect(Object.keys(record).sort()).toEqual([...members].sort())
    expect(Object.keys(record.address).sort()).toEqual([...address].sort())
  }
})

test.each([
  ['GET', '?NAME=1'],
  ['GET', '?NAME__gte=1&ordering=-NAME'],
  ['GET', '?NAME_gte=1'],
  ['GET', '?or=(id:1,NAME__is:null)'],
  ['GET', '?ordering=NAME&after='],
  ['POST', ''],
  ['PUT', '1/'],
])('Field permissions: the response to %s %s is that for a field that does not exist', async (method, path) => {
  // The name has the same length, because a message may be cut.
  for (const [name, unknown] of [
    ['hourlyRate', 'hourlyXate'],
    ['badge', 'baXge'],
    ['mentor_id', 'menXor_id'],
    ['mentor__name', 'menXor__name'],
    ['bank__iban', 'baXk__iban'],
    ['bank', 'baXk'],
    ['remarks', 'remXrks'],
    ['mentees__id', 'menXees__id'],
  ] as const) {
    const request = (field: string): Promise<Reply> =>
      as(
        undefined,
        `${method} /api/worker/${path.replaceAll('NAME', field)}`,
        method === 'GET' ? {} : { body: { [field]: 1 } },
      )
    const [hidden, missing] = [await request(name), await request(unknown)]
    const [own, other] = [name, unknown].map((path) => path.replace(/__.*/, ''))
    expect(hidden.status).toBe(400)
    expect(hidden.text.replaceAll(own ?? '', other ?? '')).toBe(missing.text)
  }
})

test('Field permissions: a field is hidden, not null, and its column is not read', async () => {
  world.statements()
  const { text } = await as(4, 'GET /api/worker/1/')
  expect(text).not.toMatch(/null/)
  expect(world.statements().join()).not.toMatch(/hourlyRate|iban|pin|badge/)
})

test('Field permissions: entity tags are those of the fields that the principal may read', async () => {
  const tagOf = async (person: Person): Promise<string> => (await as(person, 'GET /api/worker/4/')).headers.etag ?? ''
  const [full, none] = [await tagOf(1), await tagOf(4)]
  await world.sql(`UPDATE "worker" SET "pin" = 'other', "hourlyRate" = "hourlyRate" + 1 WHERE "id" = 4`)
  expect([(await tagOf(4)) === none, (await tagOf(1)) === full]).toEqual([true, false])
  const put = (tag: string) => as(4, 'PUT /api/worker/4/', { body: { name: 'Worker 4' }, headers: { 'If-Match': tag } })
  // The tag of another person is like any other tag.
  const [foreign, wrong] = [await put(await tagOf(1)), await put('"x"')]
  expect([foreign.status, foreign.text]).toEqual([412, wrong.text])
  expect((await put(none)).status).toBe(200)
})

test('Field permissions: a token of keyset paging is worth nothing without permission to read its fields', async () => {
  const first = (await as(1, 'GET /api/worker/?ordering=hourlyRate&after=&limit=1')).json() as {
    meta: { next: string }
  }
  const token = /after=([^&]+)/.exec(first.meta.next)?.[1]
  expect((await as(2, `GET ${first.meta.next}`)).status).toBe(200)
  for (const [ordering, status] of [
    ['hourlyRate', 400],
    ['id', 400],
  ] as const) {
    const withToken = await as(3, `GET /api/worker/?ordering=${ordering}&after=${token}`)
    const withOther = await as(3, `GET /api/worker/?ordering=${ordering}&after=${token?.replace(/./g, 'A')}`)
    expect([withToken.status, withToken.text]).toEqual([status, withOther.text])
  }
})

test('Field permissions: presets set fields that nobody may read or write', async () => {
  const created = await as(3, 'POST /api/diary/', { body: { id: 900, text: 'fog' } })
  expect([created.status, created.json()]).toEqual([201, { id: 900, text: 'fog', mood: 5 }])
  const [row] = await world.sql(`SELECT "person" AS "person" FROM "diary" WHERE "id" = 900`)
  expect(row?.['person']).toBe(3)
  expect((await as(2, 'GET /api/diary/900/')).status).toBe(404)
})

test('Field permissions: validators of presets do not name a field that the principal may not read or write', async () => {
  const { status, text } = await as(99, 'POST /api/diary/', { body: { id: 901, text: 'mud' } })
  expect([status, text]).toEqual([201, expect.not.stringContaining('person')])
})

test('Field permissions: a field without read permission can have write permission', async () => {
  const changed = await as(3, 'PATCH /api/worker/3/', { body: { pin: 'secret' } })
  expect([changed.status, changed.text.includes('secret')]).toEqual([200, false])
  expect((await as(1, 'GET /api/worker/3/')).json()).toMatchObject({ pin: 'secret' })
})

test('Field permissions: the list of mounted resources has the restricted properties', () => {
  const { resources } = world.mounted
  expect(resources.map(({ name, fieldPermissions }) => [name, fieldPermissions])).toEqual([
    [
      'worker',
      {
        hourlyRate: ['read', 'write'],
        pin: ['read', 'write'],
        badge: ['read', 'write'],
        'address.phone': ['read', 'write'],
        bank: ['read', 'write'],
        mentor: ['read', 'write'],
        remarks: ['read', 'write'],
        skills: ['read', 'write'],
      },
    ],
    ['job', { title: ['write'] }],
    ['remark', undefined],
    ['skill', undefined],
    ['entrance', { holder: ['read', 'write'] }],
    ['diary', { mood: ['read', 'write'], person: ['read', 'write'] }],
  ])
  expect(resources[0]?.fields).toContain('hourlyRate')
})
