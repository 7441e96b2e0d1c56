import {
  AfterLoad,
  AfterRecover,
  BeforeRecover,
  Column,
  DeleteDateColumn,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  type RecoverEvent,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
  VersionColumn,
} from 'typeorm'
import { IdempotencyKey, type Principal, problem, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Restoring records: the parameter `deleted`, and `POST …/<id>/restore/`. */

/** The header `x-person` names the person who sends a request, and `x-role` the role. */
const byHeader: Rule = ({ context, method }) => {
  if (context.get('x-role') === 'post-only' && method !== 'POST' && method !== 'GET') return null
  const id = context.get('x-person')
  return { id: id === '' ? null : Number(id), admin: context.get('x-role') === 'manager' }
}
const isManager = ({ admin }: Principal): boolean => admin === true

@Entity()
@Resource({ auth: byHeader, scope: (me) => isManager(me) || { secret: false } })
class Folder {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
  @Column({ type: 'boolean', default: false }) secret!: boolean
  @OneToMany(
    () => Doc,
    ({ folder }) => folder,
  )
  docs!: Relation<Doc>[]
}

/** Managers restore all documents that they see, authors their own. Person 9 restores none. */
@Entity()
@Resource({
  auth: byHeader,
  scope: ({ id }) => id === 8 || { hidden: false },
  may: { restore: (me) => isManager(me) || (me.id !== null && me.id !== 9 && { author: me.id }) },
  aggregate: true,
  formats: true,
  search: ['title'],
  exclude: ['hidden'],
})
class Doc {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) title!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) code!: string | null
  @Column({ type: 'integer', default: 1 }) author!: number
  @Column({ type: 'boolean', default: false }) hidden!: boolean
  @DeleteDateColumn() deleted!: Date | null
  @VersionColumn() version!: number
  @ManyToOne(
    () => Folder,
    ({ docs }) => docs,
    { nullable: true },
  )
  folder!: Relation<Folder> | null
  @OneToMany(
    () => Comment,
    ({ doc }) => doc,
  )
  comments!: Relation<Comment>[]
  @ManyToMany(() => Label) @JoinTable() labels!: Relation<Label>[]
}

@Entity()
@Resource({ auth: byHeader })
class Comment {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) text!: string
  @ManyToOne(
    () => Doc,
    ({ comments }) => comments,
  )
  doc!: Relation<Doc>
  @DeleteDateColumn() gone!: Date | null
}

@Entity()
@Resource({ auth: byHeader })
class Label {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
}

/** Without `may.restore`. */
@Entity()
@Resource({ auth: byHeader })
class Plain {
  @PrimaryColumn() id!: number
  @DeleteDateColumn() deleted!: Date | null
}

@Entity()
@Resource({ auth: byHeader, ownerField: { field: 'folder', is: ({ id }) => id }, may: { restore: true } })
class Owned {
  @PrimaryColumn() id!: number
  @ManyToOne(() => Folder, { nullable: false }) folder!: Relation<Folder>
  @DeleteDateColumn() removed!: Date | null
}

const events: unknown[] = []
@Entity()
@Resource({ auth: byHeader, may: { restore: { locked: false } } })
class Heard {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
  @Column({ type: 'boolean', default: false }) locked!: boolean
  @DeleteDateColumn() removed!: Date | null
  @VersionColumn() version!: number
  @BeforeRecover() before(): void {
    events.push(['before', this.id, this.removed !== null, this.version])
    if (this.name === 'refused') throw problem(409, 'this record stays deleted')
  }
  @AfterRecover() after(): void {
    events.push(['after', this.id, this.removed !== null, this.version])
    if (this.name === 'failing') throw problem(409, 'after the statement')
  }
}
@EventSubscriber()
class HeardSubscriber implements EntitySubscriberInterface<Heard> {
  listenTo(): typeof Heard {
    return Heard
  }
  beforeRecover({ entity, databaseEntity, queryRunner }: RecoverEvent<Heard>): void {
    const { principal } = queryRunner.data as { principal: Principal }
    events.push(['subscriber', entity?.id, databaseEntity?.removed instanceof Date, principal.id])
  }
}

@Entity()
@Resource({ auth: byHeader, may: { restore: ({ id }) => id === 1 } })
class Loaded {
  @PrimaryColumn({ type: 'varchar', length: 5 }) kind!: string
  @PrimaryColumn() number!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
  @DeleteDateColumn() removed!: Date | null
  @AfterLoad() shout(): void {
    this.name = this.name.toUpperCase()
  }
}

@Entity()
@Tree('closure-table')
@Resource({ auth: byHeader, may: { restore: true } })
class Node {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
  @DeleteDateColumn() removed!: Date | null
  @TreeParent() parent!: Relation<Node> | null
  @TreeChildren() children!: Relation<Node>[]
}

/** The scope depends on whether the record is deleted, so that nobody sees a restored one. */
@Entity()
@Resource({ auth: byHeader, scope: () => ({ removed__is: 'not_null' }), may: { restore: true } })
class Odd {
  @PrimaryColumn() id!: number
  @DeleteDateColumn() removed!: Date | null
}

/** Has texts that a streamed list reads one by one. */
@Entity()
@Resource({ auth: byHeader, may: { restore: isManager }, formats: true })
class Paper {
  @PrimaryColumn() id!: number
  @Column(isMariadb ? 'longtext' : 'text') text!: string
  @DeleteDateColumn() deleted!: Date | null
}

const entities = [Folder, Label, Doc, Comment, Plain, Owned, Heard, Loaded, Node, Odd, Paper]

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [...entities, IdempotencyKey],
    source: { subscribers: [HeardSubscriber] },
    mount: { openapi: byHeader },
    seed: async (dataSource) => {
      const run = (text: string): Promise<unknown> => dataSource.query(isMariadb ? text.replaceAll('"', '`') : text)
      // A code is unique among the documents that are not deleted.
      if (isMariadb) {
        await run('ALTER TABLE "doc" ADD "alive" VARCHAR(20) AS (IF("deleted" IS NULL, "code", NULL)) VIRTUAL UNIQUE')
      } else await run('CREATE UNIQUE INDEX "alive" ON "doc" ("code") WHERE "deleted" IS NULL')
    },
  })
})
afterAll(() => world.close())
afterEach(() => expect((world.faults as unknown[]).splice(0)).toEqual([]))

const yesterday = new Date(Date.now() - 86_400_000)
/** Empties all tables, and inserts what the tests need. */
async function reset(): Promise<void> {
  const tables = [
    'doc_labels_label',
    'comment',
    'owned',
    'doc',
    'label',
    'plain',
    'heard',
    'loaded',
    'node_closure',
    'node',
    'odd',
    'paper',
    'folder',
  ]
  await world.sql('UPDATE "node" SET "parentId" = NULL')
  for (const table of tables) await world.sql(`DELETE FROM "${table}"`)
  const save = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
    world.dataSource.getRepository<object>(entity).save([...rows])
  await save(Folder, [
    { id: 1, name: 'one' },
    { id: 2, name: 'two', secret: true },
  ])
  await save(Label, [{ id: 1, name: 'red' }])
  await save(Doc, [
    { id: 1, title: 'alive', code: 'a', folder: { id: 1 } },
    { id: 2, title: 'own', code: 'b', author: 1, deleted: yesterday, folder: { id: 1 }, labels: [{ id: 1 }] },
    { id: 3, title: 'other', code: 'c', author: 2, deleted: yesterday, folder: { id: 2 } },
    { id: 4, title: 'hidden', code: 'd', author: 1, hidden: true, deleted: yesterday },
    { id: 5, title: 'taken', code: 'a', author: 1, deleted: yesterday },
  ])
  await save(Comment, [
    { id: 1, text: 'first', doc: { id: 2 } },
    { id: 2, text: 'second', doc: { id: 2 } },
    { id: 3, text: 'gone', doc: { id: 2 }, gone: yesterday },
    { id: 4, text: 'third', doc: { id: 3 } },
    { id: 5, text: 'alive', doc: { id: 1 } },
  ])
  await save(Plain, [{ id: 1 }, { id: 2, deleted: yesterday }])
  await save(
    Owned,
    [1, 2].map((id) => ({ id, folder: { id }, removed: yesterday })),
  )
  await save(Heard, [
    { id: 1, name: 'x', removed: yesterday },
    { id: 2, name: 'refused', removed: yesterday },
    { id: 3, name: 'failing', removed: yesterday },
    { id: 4, name: 'locked', locked: true, removed: yesterday },
  ])
  await save(Loaded, [{ kind: 'a', number: 1, name: 'x', removed: yesterday }])
  await save(Node, [{ id: 1, name: 'root' }])
  await save(Node, [{ id: 2, name: 'child', parent: { id: 1 }, removed: yesterday }])
  await save(Odd, [{ id: 1, removed: yesterday }])
  events.splice(0)
}
/** Whether a test may have changed the rows since the last reset. */
let isChanged = true
beforeEach(async () => {
  if (isChanged) await reset()
  isChanged = true
})

function api(
  who: string,
  line: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): Promise<Reply> {
  const [person = '', role = ''] = who.split(' ')
  const own = { ...(person !== 'nobody' && { 'x-person': person }), 'x-role': role, ...headers }
  return send(world.url, line.replace(' ', ' /api/'), { headers: own, body })
}
interface Listed {
  readonly meta: Readonly<Record<string, unknown>>
  readonly objects: readonly Readonly<Record<string, unknown>>[]
}
const list = (reply: Reply): Listed => reply.json() as Listed
const idsOf = (reply: Reply): readonly unknown[] => list(reply).objects.map(({ id }) => id)

test.each([
  ['1', 'doc/', [1]],
  ['1', 'doc/?deleted=only', [2, 5]],
  ['2', 'doc/?deleted=only', [3]],
  ['3', 'doc/?deleted=only', []],
  ['8', 'doc/?deleted=only', []],
  ['1 manager', 'doc/?deleted=only', [2, 3, 5]],
  ['8 manager', 'doc/?deleted=only', [2, 3, 4, 5]],
  ['1', 'doc/?deleted=with', [1, 2, 5]],
  ['1 manager', 'doc/?deleted=with', [1, 2, 3, 5]],
  ['3', 'doc/?deleted=with', [1]],
  ['1', 'doc?%64eleted=only', [2, 5]],
  // With filters, orderings, searches and pages.
  ['1 manager', 'doc/?deleted=only&ordering=-title', [5, 2, 3]],
  ['1 manager', 'doc/?deleted=with&ordering=folder__name,-id', [5, 2, 1, 3]],
  ['1 manager', 'doc/?deleted=with&title__gt=o&limit=1', [2]],
  ['1 manager', 'doc/?deleted=with&title__gt=o&limit=1&page=2', [3]],
  ['1 manager', 'doc/?deleted=only&limit=1&page=1500', []],
  ['1 manager', 'doc/?deleted=only&search=OTH', [3]],
  ['1 manager', 'doc/?deleted=only&or=(id:2,title:alive)', [2]],
  ['1 manager', 'doc/?deleted=only&not=(id:2)', [3, 5]],
  ['1 manager', 'doc/?deleted=with&after=&limit=2', [1, 2]],
  // The field `deleted` needs an operator.
  ['1 manager', 'doc/?deleted=with&deleted__is=not_null', [2, 3, 5]],
  ['1 manager', 'doc/?deleted=only&deleted__gt=2100-01-01', []],
  ['1 manager', 'doc/?deleted=with&or=(deleted:2100-01-01,id:1)', [1]],
  ['9', 'doc/?deleted__is=null', [1]],
  // Filters through relations.
  ['1 manager', 'doc/?deleted=only&folder__name=one', [2]],
  ['1 manager', 'doc/?deleted=only&folder__name__is=null', [5]],
  ['1', 'doc/?deleted=only&folder__name=two', []],
  ['1 manager', 'doc/?deleted=only&comments__text=second', [2]],
  ['1 manager', 'doc/?deleted=only&comments__text=gone', []],
  ['1 manager', 'doc/?deleted=with&comments__text__in=alive,third', [1, 3]],
  ['1 manager', 'doc/?deleted=only&comments__id__is=null', [5]],
  ['1 manager', 'doc/?deleted=only&labels__name=red', [2]],
  ['1 manager', 'doc/?deleted=with&labels__id__is=null', [1, 3, 5]],
  // Other records lead to those that are not deleted only.
  ['1 manager', 'folder/?docs__id__gt=0', [1]],
  ['1 manager', 'comment/?doc__title=own', []],
  // Owners.
  ['1', 'owned/?deleted=only', [1]],
  ['2', 'owned/?deleted=with', [2]],
  ['nobody', 'owned/?deleted=with', []],
] as const)('Restoring records: as %s, GET %s has the records %j', async (who, path, ids) => {
  const reply = await api(who, `GET ${path}`)
  expect([reply.status, reply.status === 200 ? idsOf(reply) : reply.text]).toEqual([200, ids])
  isChanged = false
})

test.each([
  // No principal of the resource, or not this one, restores records.
  ['1', 'plain/?deleted=only', /^deleted must be/],
  ['1', 'folder/?deleted=only', /^deleted is not a field of folder/],
  ['1', 'comment/?deleted=only', /^deleted is not a field of comment/],
  ['2', 'loaded/?deleted=only', /^deleted is not a field of loaded/],
  ['9', 'doc/?deleted=only', /^deleted must be a date and time/],
  ['nobody', 'doc/?deleted=only', /^deleted must be a date and time/],
  // Values.
  ['1', 'doc/?deleted=', /^deleted must be only or with/],
  ['1', 'doc/?deleted=2020-01-01', /^deleted must be only or with/],
  ['1', 'doc/?deleted=only&deleted=only', /^deleted is given twice/],
  ['1', 'doc/2/?deleted=yes', /^deleted must be only or with/],
] as const)('Restoring records: as %s, GET %s is 400', async (who, path, detail) => {
  const reply = await api(who, `GET ${path}`)
  expect([reply.status, reply.json()]).toEqual([
    400,
    expect.objectContaining({ detail: expect.stringMatching(detail) }),
  ])
})

test('Restoring records: a principal who restores none uses the field "deleted" as before', async () => {
  expect(idsOf(await api('9', 'GET doc/?deleted__is=null'))).toEqual([1])
  expect(idsOf(await api('9', 'GET doc/?deleted=2020-01-01'))).toEqual([])
  expect(idsOf(await api('1', 'GET plain/?deleted=2020-01-01'))).toEqual([])
})

test('Restoring records: links, counts, groups and formats', async () => {
  const first = list(await api('1 manager', 'GET doc/?deleted=only&count=exact&limit=2'))
  expect(first.meta).toMatchObject({
    total: 3,
    next: '/api/doc/?deleted=only&count=exact&limit=2&page=2',
    previous: '',
  })
  const second = list(await send(world.url, `GET ${first.meta['next']}`, { headers: { 'x-role': 'manager' } }))
  expect([second.objects.map(({ id }) => id), second.meta['previous']]).toEqual([
    [5],
    '/api/doc/?deleted=only&count=exact&limit=2&page=1',
  ])
  const keyset = list(await api('1 manager', 'GET doc/?deleted=with&after=&limit=2'))
  const next = await send(world.url, `GET ${keyset.meta['next']}`, { headers: { 'x-role': 'manager' } })
  expect(idsOf(next)).toEqual([3, 5])
  expect(list(await api('1 manager', 'GET doc/?deleted=with&count=capped&limit=0')).meta).toMatchObject({
    total: 4,
    total_capped: false,
  })
  const groups = list(await api('1 manager', 'GET doc/?deleted=only&aggregate=count&by=author')).objects
  expect(groups).toEqual([
    { author: 1, count: 2 },
    { author: 2, count: 1 },
  ])
  expect(list(await api('1', 'GET doc/?aggregate=count')).objects).toEqual([{ count: 1 }])
  const lines = (await api('1', 'GET doc/?deleted=only&format=ndjson&fields=title')).text
  expect(lines).toBe('{"id":2,"title":"own"}\n{"id":5,"title":"taken"}\n')
  expect((await api('1', 'GET doc/?deleted=with&format=csv&fields=title')).text).toBe(
    'id,title\r\n1,alive\r\n2,own\r\n5,taken\r\n',
  )
})

test.each([
  ['with', [1, 2, 3]],
  ['only', [2, 3]],
])('Restoring records: a streamed list has deleted records with long texts (deleted=%s)', async (deleted, ids) => {
  const texts = new Map([1, 2, 3].map((id) => [id, `${id}`.repeat(id === 3 ? 1 : 300_000)]))
  await world.dataSource
    .getRepository(Paper)
    .insert([...texts].map(([id, text]) => ({ id, text, deleted: id === 1 ? null : yesterday })))
  const { status, text } = await api('1 manager', `GET paper/?deleted=${deleted}&format=ndjson`)
  const records = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Paper)
  expect([status, records.map((record) => record.id)]).toEqual([200, ids])
  for (const record of records) expect(record.text === texts.get(record.id)).toBe(true)
})

test('Restoring records: deleted records include their related records', async () => {
  const include = 'include=folder,labels(fields:id),comments(fields:(id),count:exact)'
  const reply = await api('1 manager', `GET doc/?deleted=only&fields=id&${include}`)
  const [second, third, fifth] = list(reply).objects
  expect(second).toEqual({
    id: 2,
    folder: { id: 1, name: 'one', secret: false },
    labels: [{ id: 1 }],
    labels_next: '',
    comments: [{ id: 1 }, { id: 2 }],
    comments_next: '',
    comments_total: 2,
  })
  expect(third).toMatchObject({ id: 3, folder: { id: 2 }, labels: [], comments: [{ id: 4 }] })
  expect(fifth).toMatchObject({ id: 5, folder: null, labels: [], comments: [] })
  // The row scope of a related record applies.
  const own = await api('2', `GET doc/?deleted=only&${include}`)
  expect(list(own).objects).toEqual([expect.objectContaining({ id: 3, folder: null, folder_id: 2 })])
  const item = await api('1', `GET doc/2/?deleted=only&fields=id&${include}`)
  expect([item.status, item.json()]).toEqual([200, second])
  // Included records are never deleted ones.
  const folders = list(await api('1 manager', 'GET folder/?include=docs(fields:id)')).objects
  expect(folders.map(({ docs }) => docs)).toEqual([[{ id: 1 }], []])
})

test.each([
  ['1', 'doc/2/?deleted=only', 200],
  ['1', 'doc/2/?deleted=with', 200],
  ['1', 'doc/2?deleted=only', 200],
  ['1', 'doc/2/?deleted=only&fields=title', 200],
  ['1', 'doc/1/?deleted=with', 200],
  ['1', 'doc/1/?deleted=only', 404],
  ['1', 'doc/1/?deleted=only&include=folder', 404],
  ['1', 'doc/2/', 404],
  ['1', 'doc/2/?fields=title', 404],
  ['1', 'doc/3/?deleted=only', 404],
  ['1 manager', 'doc/3/?deleted=only', 200],
  ['1 manager', 'doc/4/?deleted=only', 404],
  ['1', 'doc/99/?deleted=only', 404],
  ['1', 'doc/x/?deleted=only', 404],
  // It is no parameter for them.
  ['9', 'doc/2/?deleted=only', 400],
  ['9', 'doc/1/?deleted=only', 400],
  ['nobody', 'doc/2/?deleted=only', 400],
  ['1', 'plain/2/?deleted=only', 400],
  ['1', 'owned/1/?deleted=only', 200],
  ['1', 'owned/2/?deleted=only', 404],
  ['1', 'loaded/a,1/?deleted=only', 200],
] as const)('Restoring records: as %s, GET %s is %d', async (who, path, status) => {
  const reply = await api(who, `GET ${path}`)
  expect([reply.status, reply.text]).toEqual([status, expect.any(String)])
  isChanged = false
})

test('Restoring records: a deleted record has the same ETag as a list of its fields, and conditional requests work', async () => {
  const { headers } = await api('1', 'GET doc/2/?deleted=only')
  expect((await api('1', 'GET doc/2/?deleted=with', { 'If-None-Match': headers.etag ?? '' })).status).toBe(304)
  expect((await api('1', 'GET doc/2/?deleted=with&fields=id', { 'If-Match': '"x"' })).status).toBe(412)
  expect((await api('1', 'POST doc/2/restore/', { 'If-Match': '"x"' })).status).toBe(412)
  expect((await api('1', 'POST doc/2/restore/', { 'If-Match': headers.etag ?? '' })).status).toBe(200)
})

test.each([
  ['1', 'doc/2/restore/', { id: 2, title: 'own', deleted: null, version: 2 }],
  ['1', 'doc/2/restore', { id: 2, deleted: null }],
  ['1 manager', 'doc/3/restore/?include=folder', { id: 3, folder: { id: 2, name: 'two', secret: true } }],
  ['2', 'doc/3/restore/?include=folder', { id: 3, folder: null }],
  ['8 manager', 'doc/4/restore/', { id: 4 }],
  ['1', 'owned/1/restore/', { id: 1, removed: null }],
  ['1', 'loaded/a,1/restore/', { id: 'a,1', name: 'X' }],
  ['1', 'node/2/restore/', { id: 2, parent_id: 1 }],
] as const)('Restoring records: as %s, POST %s restores the record', async (who, path, record) => {
  const reply = await api(who, `POST ${path}`)
  expect([reply.status, reply.json()]).toEqual([200, expect.objectContaining(record)])
  const item = path.replace(/restore.*/, '')
  const read = await api(who, `GET ${item}${path.includes('include') ? '?include=folder' : ''}`)
  expect(read.json()).toEqual(reply.json())
  expect((await api(who, `GET ${item}`)).headers.etag).toBe(reply.headers.etag)
  expect((await api(who, `POST ${path}`)).status).toBe(404)
})

test.each([
  ['1', 'doc/1/restore/', 404],
  ['1', 'doc/3/restore/', 404],
  ['1', 'doc/4/restore/', 404],
  ['1 manager', 'doc/4/restore/', 404],
  ['1', 'doc/99/restore/', 404],
  ['1', 'doc/x/restore/', 404],
  ['1', 'doc/2/restore/?include=nope', 400],
  // The principal restores no records, whether they exist or not.
  ['9', 'doc/2/restore/', 403],
  ['9', 'doc/99/restore/', 403],
  ['nobody', 'doc/2/restore/', 401],
  ['2', 'loaded/a,1/restore/', 403],
  // Another document has the code.
  ['1', 'doc/5/restore/', 409],
  // Owners.
  ['1', 'owned/2/restore/', 404],
  ['nobody', 'owned/1/restore/', 401],
  // Filters, and listeners.
  ['1', 'heard/4/restore/', 404],
  ['1', 'heard/2/restore/', 409],
  ['1', 'heard/3/restore/', 409],
  // The scope is checked after the write.
  ['1', 'odd/1/restore/', 403],
  // For an access rule it is PATCH.
  ['1 post-only', 'doc/2/restore/', 401],
  // Without `may.restore`, the path is not one of the service.
  ['1', 'plain/2/restore/', 404],
  ['1', 'nope/2/restore/', 404],
  ['1', 'doc/2/restor/', 404],
  ['1', 'doc/2/%72estore/', 404],
  ['1', 'doc/2/restore/restore/', 404],
  ['1', 'doc/2//restore/', 404],
  ['1', 'doc/restore/', 405],
] as const)('Restoring records: as %s, POST %s is %d, and nothing is written', async (who, path, status) => {
  const rows = () =>
    Promise.all(
      ['doc', 'owned', 'heard', 'loaded', 'odd', 'plain'].map((table) =>
        world.sql(`SELECT * FROM "${table}" ORDER BY 1`),
      ),
    )
  const before = await rows()
  const reply = await api(who, `POST ${path}`)
  expect([reply.status, reply.text]).toEqual([status, expect.any(String)])
  expect(await rows()).toEqual(before)
  isChanged = false
  if (path.startsWith('doc/5')) expect(reply.json()).toMatchObject({ type: expect.stringMatching(/conflict$/) })
})

test('Restoring records: unknown records and those that cannot be seen have the same response', async () => {
  const texts = await Promise.all([1, 3, 4, 99].map(async (id) => (await api('1', `POST doc/${id}/restore/`)).text))
  expect(new Set(texts).size).toBe(1)
  const refused = await Promise.all([1, 2, 99].map(async (id) => (await api('9', `POST doc/${id}/restore/`)).text))
  expect(new Set(refused).size).toBe(1)
})

test('Restoring records: listeners and subscribers are called as by TypeORM', async () => {
  expect((await api('1', 'POST heard/1/restore/')).json()).toMatchObject({ id: 1, removed: null, version: 2 })
  expect(events.splice(0)).toEqual([
    ['before', 1, true, 1],
    ['subscriber', 1, true, 1],
    ['after', 1, false, 2],
  ])
  const repository = world.dataSource.getRepository(Heard)
  const [entity] = await repository.find({ where: { id: 4 }, withDeleted: true })
  world.dataSource.subscribers.splice(0)
  if (entity !== undefined) await repository.recover(entity)
  expect(events.splice(0)).toEqual([
    ['before', 4, true, 1],
    ['after', 4, false, 2],
  ])
})

test('Restoring records: methods of the path', async () => {
  for (const path of ['doc/2/restore/', 'doc/2/restore', 'doc/99/restore/']) {
    const options = await api('1', `OPTIONS ${path}`)
    expect([options.status, options.headers.allow]).toEqual([204, 'OPTIONS, POST'])
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
      const reply = await api('1', `${method} ${path}`)
      expect([method, reply.status, reply.headers.allow]).toEqual([method, 405, 'OPTIONS, POST'])
    }
  }
  const headers = { Origin: 'https://other.example', 'Sec-Fetch-Site': 'cross-site' }
  expect((await api('1', 'POST doc/2/restore/', headers)).status).toBe(403)
})

test('Restoring records: a deleted record cannot be changed or deleted', async () => {
  expect((await api('1', 'PUT doc/2/', {}, { title: 'x' })).status).toBe(404)
  expect((await api('1', 'DELETE doc/2/')).status).toBe(404)
  expect((await api('1', 'DELETE doc/1/')).status).toBe(204)
  expect((await api('1', 'POST doc/1/restore/')).status).toBe(200)
  expect((await api('1', 'PUT doc/1/', {}, { title: 'x' })).status).toBe(200)
})

test('Restoring records: a repeated request with an Idempotency-Key gets the same response', async () => {
  const headers = { 'Idempotency-Key': `"${Math.random()}"` }
  const [first, again] = [
    await api('1', 'POST doc/2/restore/', headers),
    await api('1', 'POST doc/2/restore/', headers),
  ]
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text])
})

test('Restoring records: of several requests at the same time, one restores the record', async () => {
  const replies = await Promise.all(Array.from({ length: 8 }, () => api('1', 'POST doc/2/restore/')))
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, ...Array<number>(7).fill(404)])
})

test('Restoring records: the OpenAPI document describes what the reader may do', async () => {
  const pathsFor = async (who: string) => {
    const { paths } = (await api(who, 'GET openapi.json')).json() as {
      paths: Record<string, Record<string, { parameters: readonly { name: string }[] }>>
    }
    const parameters = paths['/doc']?.['get']?.parameters.map(({ name }) => name) ?? []
    return {
      restores: Object.keys(paths).filter((path) => path.endsWith('/restore')),
      deleted: parameters.filter((name) => /^deleted(__eq)?$/.test(name)),
      ofItem: paths['/doc/{id}']?.['get']?.parameters.some(({ name }) => name === 'deleted'),
    }
  }
  const all = ['doc', 'owned', 'heard', 'loaded', 'node', 'odd'].map((name) => `/${name}/{id}/restore`)
  expect(await pathsFor('1')).toEqual({
    restores: expect.any(Array),
    deleted: ['deleted__eq', 'deleted'],
    ofItem: true,
  })
  expect((await pathsFor('1')).restores.toSorted()).toEqual(all.toSorted())
  expect(await pathsFor('9')).toEqual({ restores: expect.any(Array), deleted: ['deleted'], ofItem: false })
  expect((await pathsFor('9')).restores).not.toContain('/doc/{id}/restore')
})

test('Restoring records: the description of a mounted resource', () => {
  const doc = world.mounted.resources.find(({ name }) => name === 'doc')
  expect(doc?.may).toEqual(['restore'])
})
