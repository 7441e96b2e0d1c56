import Koa from 'koa'
import type { DataSource } from 'typeorm'
import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { mountResources, Resource, type Rule } from 'typeorm-resources'
import { apiOf, type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { openDataSource, openWorld, type World } from '../world/world'

/** The option `search` of a resource, and the parameter `search` of its list. */

/** The principal that the header `x-person` names. */
const byHeader: Rule = ({ context }) => ({ id: Number(context.get('x-person') || 0) })
const isFirst = ({ id }: { readonly id?: unknown }): boolean => id === 1

@Entity()
@Resource({ auth: byHeader, scope: (me) => (me.id === 2 ? { name__ne: 'Hidden' } : true) })
class Team {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  /** Not searched. */
  @Column({ length: 20, default: '' }) motto!: string
}

/** Its access rule permits only the principal 1. It counts for relations to it, because the resource has a scope. */
@Entity()
@Resource({ auth: ({ context }) => (context.get('x-person') === '1' ? { id: 1 } : undefined), scope: () => true })
class Vault {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) code!: string
}

class Place {
  @Column({ type: 'varchar', length: 20, nullable: true }) city!: string | null
}

@Entity()
@Resource({
  auth: byHeader,
  rename: { title: 'heading' },
  fields: { note: { read: isFirst } },
  search: ['title', 'text', 'note', 'place.city', 'team.name', 'vault.code'],
  aggregate: true,
})
class Job {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60 }) title!: string
  @Column({ type: 'varchar', length: 100, nullable: true }) text!: string | null
  @Column({ type: 'varchar', length: 20, nullable: true }) note!: string | null
  @Column({ length: 20, default: 'unsearched' }) other!: string
  @Column(() => Place) place!: Place
  @ManyToOne(() => Team) team!: Relation<Team> | null
  @ManyToOne(() => Vault) vault!: Relation<Vault> | null
}

/** Nobody but principal 1 may read what its lists search. */
@Entity()
@Resource({ auth: byHeader, fields: { memo: { read: isFirst } }, search: ['memo'] })
class Memo {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) memo!: string
}

/** Has a field with the name of the parameter. */
@Entity()
@Resource({ auth: permitAll })
class Query {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) search!: string
}

const rows = [
  { title: 'Login fails', text: 'Error 500 at once', place: { city: 'Lima' }, team: { id: 1 } },
  { title: 'Logout works', text: null, note: 'login error', place: { city: null }, vault: { id: 1 } },
  { title: '100% done_now', text: 'back\\slash', team: { id: 2 } },
  { title: '100 percent doneXnow', text: 'back/slash [a*]?', team: { id: 2 } },
  { title: 'ÉCOLE', text: 'a  b' },
]

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Team, Vault, Job, Memo, Query],
    mount: { limits: { patternCost: 32 } },
    seed: async (dataSource: DataSource) => {
      const save = (entity: new () => object, records: readonly object[]): Promise<unknown> =>
        dataSource.getRepository<object>(entity).save([...records])
      await save(Team, [{ name: 'Support', motto: 'Help' }, { name: 'Hidden' }])
      await save(Vault, [{ code: 'swordfish' }])
      for (const row of rows) await save(Job, [row])
      await save(Memo, [{ memo: 'first' }, { memo: 'second' }])
      await save(Query, [{ search: 'one' }, { search: 'two' }])
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

interface Envelope {
  readonly meta: { readonly next: string; readonly previous: string; readonly total?: number }
  readonly objects: readonly { readonly id: number }[]
}

function as(person: number, path: string): Promise<Reply> {
  return send(world.url, `GET /api/${path}`, { headers: { 'x-person': String(person) } })
}

async function idsOf(person: number, path: string): Promise<readonly number[]> {
  const reply = await as(person, path)
  if (reply.status !== 200) throw new Error(reply.text)
  return (reply.json() as Envelope).objects.map(({ id }) => id)
}

const searchFor = (text: string): string => `job/?search=${encodeURIComponent(text)}`

test.each<readonly [rule: string, text: string, ids: readonly number[]]>([
  ['a word', 'login', [1, 2]],
  ['a part of a word', 'og', [1, 2]],
  ['whatever the case', 'LOGIN fails', [1]],
  ['every word, each in any field', 'fails error lima', [1]],
  ['every word, in the same field', 'once error', [1]],
  ['a word that occurs nowhere', 'login nowhere', []],
  ['a word twice', 'fails fails', [1]],
  ['fields that are null', 'logout', [2]],
  ['a null matches nothing', 'null', []],
  ['a percent sign', '100%', [3]],
  ['only a percent sign', '%', [3]],
  ['an underscore', 'done_now', [3]],
  ['a backslash', 'back\\slash', [3]],
  ['only a backslash', '\\', [3]],
  ['wildcards of GLOB', '*', [4]],
  ['a question mark', '?', [4]],
  ['a bracket', '[a', [4]],
  ['a quote', "'", []],
  ['words are separated by any white space', ' \tfails\n error\u00a0lima ', [1]],
  ['white space alone filters nothing', ' \t ', [1, 2, 3, 4, 5]],
  ['nothing filters nothing', '', [1, 2, 3, 4, 5]],
  ['letters beyond ASCII', 'ÉCOLE', [5]],
  ['a field of an embedded entity', 'lima', [1]],
  ['a field of a related record', 'support', [1]],
  ['a field that is not searched', 'unsearched', []],
  ['a field of a related record that is not searched', 'help', []],
])('%s', async (_, text, ids) => {
  expect(await idsOf(1, searchFor(text))).toEqual(ids)
})

test('the case of letters is as in ilike', async () => {
  for (const word of ['école', 'ÉCOLE', 'Support']) {
    const compared = await idsOf(1, `job/?heading__ilike=${encodeURIComponent(`%${word}%`)}`)
    const searched = (await idsOf(1, searchFor(word))).filter((id) => id === 5)
    expect(searched).toEqual(compared)
  }
})

test.each<readonly [rule: string, person: number, text: string, ids: readonly number[]]>([
  ['a field that the principal may read', 1, 'error', [1, 2]],
  ['a field that the principal may not read', 2, 'error', [1]],
  ['a related record in scope', 2, 'support', [1]],
  ['a related record out of scope', 2, 'hidden', []],
  ['the same record, in the scope of others', 3, 'hidden', [3, 4]],
  ['a related resource that the principal may read', 1, 'swordfish', [2]],
  ['a related resource that the principal may not read', 3, 'swordfish', []],
])('%s', async (_, person, text, ids) => {
  expect(await idsOf(person, searchFor(text))).toEqual(ids)
  const counted = (await as(person, `${searchFor(text)}&count=exact&limit=0`)).json() as Envelope
  expect(counted.meta.total).toBe(ids.length)
})

test('a search is combined with filters and groups', async () => {
  expect(await idsOf(1, 'job/?search=login&text__is=null')).toEqual([2])
  expect(await idsOf(1, 'job/?search=o&or=(id:1,id:4)&ordering=-team__name')).toEqual([1, 4])
})

test('a search is combined with selected fields and with groups of records', async () => {
  expect(await idsOf(1, 'job/?search=login&text__is=null&fields=id')).toEqual([2])
  for (const person of [1, 2]) {
    const path = 'GET /api/job/?search=o+N&aggregate=count,id__max'
    const { objects } = (await send(world.url, path, { headers: { 'x-person': String(person) } })).json() as Envelope
    const ids = await idsOf(person, 'job/?search=o+N')
    expect(objects).toEqual([{ count: ids.length, id__max: Math.max(...ids) }])
  }
})

test.each(['', '&after='])('the links repeat the search: %j', async (after) => {
  let path = `/api/job/?search=o+N&limit=1${after}`
  const found: number[] = []
  for (let page = 0; path !== '' && page < 9; page++) {
    const { meta, objects } = (
      await send(world.url, `GET ${path}`, { headers: { 'x-person': '1' } })
    ).json() as Envelope
    found.push(...objects.map(({ id }) => id))
    if (page > 0) expect(meta.previous).toContain('search=o+N&')
    path = meta.next
  }
  expect(found).toEqual(await idsOf(1, 'job/?search=o+N'))
  expect(found.length).toBeGreaterThan(2)
})

test('searches for as many words have the same statement, whatever the words are', async () => {
  world.statements()
  for (const words of ['login+fails', "x'--+done", '%25+%5C']) await idsOf(1, `job/?search=${words}`)
  await idsOf(1, 'job/?search=a+b+c')
  const statements = world.statements().filter((sql) => sql.includes('title'))
  expect([statements.length, new Set(statements).size]).toEqual([4, 2])
})

const long = 'abcdefghijklmnopqrstuvwxyz0123456789'

test.each<readonly [path: string, message: string]>([
  ['job/?search=a&search=b', 'is given twice'],
  [`job/?search=${long.repeat(8)}`, 'takes words of at most 256 characters, one has 288'],
  [
    `job/?search=${long}${long}${long}`,
    'is one pattern too many: all patterns together may have at most 512 characters',
  ],
  [
    'job/?search=a+b+c+d+e+f',
    'is a pattern too costly: all patterns need 36 comparisons for each character of a text, at most 32 are allowed; ' +
      'use fewer words: each is compared with 6 fields',
  ],
  ['job/?search=a+b+c+d&text__like=%25aaaaaaaaaa', 'is a pattern too costly: all patterns need 34'],
  ['job/?search=a%00b', 'must be text without NUL characters and lone surrogates'],
])('%s: %s', async (path, message) => {
  const reply = await as(1, path)
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(`"field":"search","message":"${message}`)])
})

test.each<readonly [person: number, path: string, message: string]>([
  [
    1,
    'team/?search=a',
    'search is not a field of team; as a parameter it needs the option "search" of the resource; fields: id, ',
  ],
  [
    2,
    'memo/?search=first',
    'search is not a field of memo; as a parameter it needs the option "search" of the resource; fields: id',
  ],
])('principal %i: %s is not a parameter', async (person, path, message) => {
  const { status, ...reply } = await as(person, path)
  expect([status, reply.json()]).toEqual([400, expect.objectContaining({ detail: expect.stringContaining(message) })])
})

test('a list has the parameter for principals who may read a field', async () => {
  expect(await idsOf(1, 'memo/?search=first')).toEqual([1])
})

test('a search of very many words is refused before its comparisons are built', async () => {
  const words = Array.from({ length: 400 }, (_, index) => `w${index}`).join('+')
  const reply = await send(world.url, `GET /api/job/?search=${words}`, { headers: { 'x-person': '1' } })
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('may have at most 32 words, this has 400')])
})

test('a field with the name of the parameter is filtered', async () => {
  const { objects } = (await get('query/?search=two')).json() as Envelope
  expect(objects.map(({ id }) => id)).toEqual([2])
})

test('the OpenAPI document has the parameter where the list has it', async () => {
  const { paths } = (await send(world.url, 'GET /api/openapi.json')).json() as {
    readonly paths: Readonly<Record<string, { get: { parameters: { name: string; description: string }[] } }>>
  }
  const parameterOf = (resource: string) =>
    paths[`/${resource}`]?.get.parameters.find(
      ({ name, description }) => name === 'search' && /^Words/.test(description),
    )
  expect(parameterOf('team')).toBeUndefined()
  expect(parameterOf('query')).toBeUndefined()
  expect(parameterOf('job')?.description).toContain('`heading`, `text`')
  expect(parameterOf('job')?.description).toContain('`team__name`')
})

@Entity()
class Root {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @Column({ length: 20 }) secret!: string
  @Column() size!: number
  @Column(() => Place) place!: Place
  @ManyToOne(() => Leaf) leaf!: Relation<Leaf> | null
  @ManyToOne(() => Leaf) hiddenLeaf!: Relation<Leaf> | null
  @OneToOne(() => Root) @JoinColumn() twin!: Relation<Root> | null
}

@Entity()
class Leaf {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
  @Column({ length: 20 }) pin!: string
  @OneToMany(
    () => Root,
    (root) => root.leaf,
  )
  roots!: Relation<Root>[]
}

interface Mistake {
  readonly search: readonly string[]
  readonly rename?: Readonly<Record<string, string>>
}

test.each<readonly [entity: 'Root' | 'Leaf', options: Mistake, mistake: string]>([
  ['Root', { search: [] }, '"search" must not be empty; name properties of text, or remove it'],
  ['Root', { search: ['name', 'name'] }, '"search" names "name" twice'],
  ['Leaf', { search: ['txt'] }, 'unknown property "txt" in "search"; text properties of Leaf: text'],
  ['Root', { search: ['leaf.txt'] }, 'unknown property "leaf.txt" in "search"; text properties of Leaf: text'],
  ['Root', { search: ['size'] }, '"search" names "size", which is not text'],
  ['Root', { search: ['leaf'] }, '"search" names "leaf", which is not text'],
  ['Root', { search: ['place'] }, '"search" names "place", which is an embedded entity; name one of its properties'],
  ['Root', { search: ['secret'] }, '"search" names "secret", which is hidden'],
  ['Root', { search: ['leaf.pin'] }, '"search" names "leaf.pin", which is hidden'],
  [
    'Root',
    { search: ['hiddenLeaf.text'] },
    '"search" names "hiddenLeaf.text", which follows the relation "hiddenLeaf", which is hidden, or does not lead to a resource',
  ],
  [
    'Leaf',
    { search: ['roots.name'] },
    '"search" names "roots.name", which follows the relation "roots" to many records; only relations to one record can be followed',
  ],
  [
    'Root',
    { search: ['name'], rename: { size: 'search' } },
    '"search" is set, but a field has the name of its parameter "search": set another name with "rename"',
  ],
  [
    'Root',
    { search: ['twin.twin.twin.name', 'leaf.text', 'twin.leaf.text'] },
    '"search" joins 5 tables, more than "limits.joins" allows: 4',
  ],
  [
    'Root',
    { search: ['name', 'leaf.text', 'place.city'] },
    '"search" names 3 properties, more than "limits.patternCost" allows: 2',
  ],
])('%s: %j is a mistake', async (name, options, mistake) => {
  const limits = { joins: 4, ...(mistake.includes('patternCost') && { patternCost: 2 }) }
  const resources = [
    { entity: Root, exclude: ['secret', 'hiddenLeaf'], ...(name === 'Root' && options) },
    { entity: Leaf, exclude: ['pin'], ...(name === 'Leaf' && options) },
  ]
  const dataSource = await openDataSource([Root, Leaf])
  const mount = () => mountResources(new Koa(), dataSource, { defaultAuth: permitAll, limits, resources })
  try {
    expect(mount).toThrow(expect.objectContaining({ mistakes: [`${name}: ${mistake}`] }))
  } finally {
    await dataSource.destroy()
  }
})
