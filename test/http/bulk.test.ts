import { IsPositive } from 'class-validator'
import {
  AfterInsert,
  AfterRemove,
  AfterUpdate,
  BeforeInsert,
  BeforeUpdate,
  Column,
  DeleteDateColumn,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
  Unique,
  VersionColumn,
} from 'typeorm'
import { type Principal, problem, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { openWorld, type World } from '../world/world'

/** Bulk writes: POST of an array, PATCH and DELETE by filter. */

/** The headers `x-person` and `x-role` name the person who sends a request, and the role. */
const byHeader: Rule = ({ context }) => {
  const id = context.get('x-person')
  return { id: id === '' ? null : Number(id), admin: context.get('x-role') === 'manager' }
}
const isManager = ({ admin }: Principal): boolean => admin === true

/** Each company has its own projects. */
@Entity()
@Resource({ auth: byHeader, bulk: true, scope: (me) => isManager(me) || { company: me.id } })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @Column({ type: 'integer' }) company!: number
}

/** Tasks are visible through their project; only drafts may be changed and deleted. */
@Entity()
@Unique(['code'])
@Resource({
  auth: byHeader,
  bulk: 50,
  exclude: ['secret'],
  readOnly: ['stamp'],
  search: ['title'],
  scope: { through: 'project' },
  may: {
    update: (me) => isManager(me) || { before: { status: 'draft' }, after: { status__in: ['draft', 'sent'] } },
    delete: (me) => isManager(me) || { status: 'draft' },
  },
})
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @Column({ type: 'varchar', length: 10, default: 'draft' }) status!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) code!: string | null
  @Column({ type: 'integer', default: 3 }) size!: number
  @Column({ type: 'varchar', length: 20, nullable: true, default: 'x' }) stamp!: string | null
  @Column({ type: 'varchar', length: 20, nullable: true }) secret!: string | null
  @VersionColumn() version!: number
  @ManyToOne(() => Project, { nullable: false, onDelete: 'CASCADE' }) project!: Relation<Project>
}

/** No policies: the statements are counted. */
@Entity()
@Resource({ auth: byHeader, bulk: true })
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'integer' }) minutes!: number
  @Column({ type: 'varchar', length: 20, default: 'none' }) note!: string
  @Column({ type: 'integer', nullable: true, unique: true }) number!: number | null
  @ManyToOne(() => Entry, { nullable: true }) parent!: Relation<Entry> | null
}

/** The application generates the keys; rows are deleted softly. */
@Entity()
@Resource({ auth: byHeader, bulk: true })
class Tag {
  @PrimaryGeneratedColumn('uuid') id!: string
  @Column({ length: 20 }) name!: string
  @DeleteDateColumn() deleted!: Date | null
}

/** A key of two columns. */
@Entity()
@Resource({ auth: byHeader, bulk: true })
class Seat {
  @PrimaryColumn({ length: 5 }) row!: string
  @PrimaryColumn({ type: 'integer' }) number!: number
  @Column({ type: 'integer', default: 1 }) price!: number
}

/** Its key is a date and an integer. PostgreSQL cannot compare these with texts. */
@Entity()
@Resource({ auth: byHeader, bulk: true })
class Shift {
  @PrimaryColumn({ type: 'date' }) day!: string
  @PrimaryColumn({ type: 'bigint' }) place!: string
  @Column({ type: 'integer', default: 1 }) hours!: number
}

const calls: string[] = []
/** The turns of the event loop in which listeners were called. */
const ticks = new Set<number>()
let tick = 0
let timer: NodeJS.Immediate
const countTicks = (): void => {
  tick++
  timer = setImmediate(countTicks)
}

/** Notes the turn of a listener, and takes as long as some work: fast work of many records needs no pauses. */
function workFor(milliseconds: number): void {
  ticks.add(tick)
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

/** Listeners and validators. */
@Entity()
@Resource({ auth: byHeader, bulk: true })
class Bill {
  @PrimaryGeneratedColumn() id!: number
  @IsPositive()
  @Column({ type: 'integer' })
  amount!: number
  @Column({ type: 'varchar', length: 20 }) label!: string
  @BeforeInsert() fill(): void {
    this.label ??= `bill ${this.amount}`
    calls.push(`before ${this.amount}`)
    if (this.amount === 700) throw problem(409, 'the amount 700 is refused', { field: 'amount' })
  }
  @AfterInsert() note(): void {
    calls.push(`after ${this.amount} ${typeof this.id}`)
  }
  @BeforeUpdate() change(): void {
    calls.push(`update ${this.amount}`)
    workFor(0.5)
  }
  @AfterUpdate() changed(): void {
    if (this.label === 'fail 3' && this.amount === 3) throw problem(409, 'the third is refused')
  }
  @AfterRemove() removed(): void {
    calls.push(`removed ${this.amount}`)
    workFor(0.5)
  }
}

@Entity()
@Tree('closure-table')
@Resource({ auth: byHeader, bulk: true })
class Folder {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @TreeParent() parent!: Relation<Folder> | null
  @TreeChildren() children!: Relation<Folder>[]
}

/** Only their owners change and delete records. */
@Entity()
@Resource({ auth: byHeader, bulk: true, ownerField: { field: 'project', is: ({ id }) => Number(id) } })
class Remark {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
  @ManyToOne(() => Project, { nullable: false }) project!: Relation<Project>
}

/** PUT needs `If-Match`, which several records cannot have. */
@Entity()
@Resource({ auth: byHeader, bulk: true, requireIfMatch: true })
class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
}

/** Has a field with the name of the parameter. */
@Entity()
@Resource({ auth: byHeader, bulk: true })
class Threshold {
  @PrimaryGeneratedColumn() id!: number
  @Column() sensor!: number
  @Column() max!: number
}

/** Without the option. */
@Entity()
@Resource({ auth: byHeader })
class Single {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
}

const entities = [Project, Task, Entry, Tag, Seat, Shift, Bill, Folder, Remark, Page, Threshold, Single]

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities,
    seed: async (dataSource) => {
      await dataSource.getRepository(Project).save([
        { name: 'one', company: 1 },
        { name: 'two', company: 2 },
      ])
    },
  })
})
beforeEach(async () => {
  for (const entity of [Remark, Task, Entry, Tag, Seat, Shift, Bill, Folder, Page, Single]) await clear(entity)
  await world.sql('DELETE FROM "project" WHERE "id" > 2')
  calls.length = 0
})
afterAll(() => world.close())

/** Deletes all rows of an entity, those that refer to others of the same table first. */
async function clear(entity: new () => object): Promise<void> {
  const { tableName } = world.dataSource.getMetadata(entity)
  if (entity === Folder) await world.sql('DELETE FROM "folder_closure"')
  if (entity === Folder || entity === Entry) await world.sql(`UPDATE "${tableName}" SET "parentId" = NULL`)
  await world.sql(`DELETE FROM "${tableName}"`)
}

interface Result {
  readonly meta: { readonly created?: number; readonly updated?: number; readonly deleted?: number }
  readonly objects: readonly Record<string, unknown>[]
  readonly detail: string
  readonly errors: readonly { readonly index?: number; readonly field: string; readonly message: string }[]
}
const request = (line: string, body?: unknown, person = '1', role = ''): Promise<Reply> =>
  send(world.url, line, { body, headers: { 'x-person': person, 'x-role': role } })
const result = (reply: Reply): Result => reply.json() as Result
const errorsOf = (reply: Reply): readonly string[] =>
  result(reply).errors.map(({ index, field, message }) => `${index} ${field} ${message}`)
const rowsOf = async (table: string, columns = '*'): Promise<readonly Record<string, unknown>[]> =>
  world.sql(`SELECT ${columns} FROM "${table}"`)
const count = async (table: string): Promise<number> => (await rowsOf(table)).length

describe('POST of an array', () => {
  test('creates the records in order, with few statements', async () => {
    const bodies = Array.from({ length: 300 }, (_, index) => ({
      minutes: index,
      ...(index % 3 === 0 && { note: `n${index}` }),
    }))
    world.statements()
    const reply = await request('POST /api/entry/', bodies)
    const statements = world.statements()
    expect(reply.status).toBe(201)
    const { meta, objects } = result(reply)
    expect(meta).toEqual({ model: 'entry', created: 300 })
    expect(objects.map(({ minutes }) => minutes)).toEqual(bodies.map(({ minutes }) => minutes))
    expect(objects.map(({ note }) => note)).toEqual(bodies.map(({ note }) => note ?? 'none'))
    const ids = objects.map(({ id }) => Number(id))
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    // Each response object is the record with its id.
    for (const index of [0, 1, 150, 299]) {
      const item = await request(`GET /api/entry/${ids[index]}/`)
      expect(item.json()).toEqual(objects[index])
    }
    const inserts = statements.filter((sql) => /^\s*INSERT/.test(sql)).length
    expect(inserts).toBeLessThan(12)
    // BEGIN, COMMIT, savepoints, and without RETURNING the keys are read back.
    expect(statements.length).toBeLessThan(50)
  })

  test('of generated and composite keys', async () => {
    const tags = await request('POST /api/tag/', [{ name: 'a' }, { name: 'b' }, { name: 'c' }])
    expect(tags.status).toBe(201)
    expect(result(tags).objects.map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    expect(new Set(result(tags).objects.map(({ id }) => id)).size).toBe(3)
    const seats = await request('POST /api/seat/', [
      { row: 'b', number: 2 },
      { row: 'a', number: 9, price: 4 },
      { row: 'b', number: 1 },
    ])
    expect(seats.status).toBe(201)
    expect(result(seats).objects.map(({ id, price }) => [id, price])).toEqual([
      ['b,2', 1],
      ['a,9', 4],
      ['b,1', 1],
    ])
  })

  test('of no records', async () => {
    const reply = await request('POST /api/entry/', [])
    expect([reply.status, reply.json()]).toEqual([201, { meta: { model: 'entry', created: 0 }, objects: [] }])
  })

  test('of nodes of a tree', async () => {
    const reply = await request('POST /api/folder/', [{ name: 'root' }, { name: 'other' }])
    expect(reply.status).toBe(201)
    const [root] = result(reply).objects
    const children = await request('POST /api/folder/', [
      { name: 'child', parent_id: root?.['id'] },
      { name: 'stray', parent_id: 99 },
    ])
    expect([children.status, errorsOf(children)]).toEqual([400, ['1 parent_id points to no folder']])
    expect(await count('folder')).toBe(2)
  })

  test('calls listeners of all records, before and after the INSERT', async () => {
    const reply = await request('POST /api/bill/', [{ amount: 1 }, { amount: 2, label: 'two' }])
    expect(reply.status).toBe(201)
    expect(result(reply).objects.map(({ label }) => label)).toEqual(['bill 1', 'two'])
    expect(calls).toEqual(['before 1', 'before 2', 'after 1 number', 'after 2 number'])
  })

  test('stores nothing if a listener throws', async () => {
    const bodies = Array.from({ length: 1000 }, (_, index) => ({ amount: index + 1 }))
    const reply = await request('POST /api/bill/', bodies)
    expect([reply.status, result(reply).detail]).toEqual([409, 'the amount 700 is refused'])
    expect(await count('bill')).toBe(0)
  })

  test.each<
    readonly [title: string, path: string, bodies: readonly unknown[], status: number, errors: readonly string[]]
  >([
    [
      'values',
      'entry',
      [{ minutes: 1 }, { minutes: 'x' }, { nope: 1 }, {}],
      400,
      [
        '1 minutes must be an integer',
        '2 nope is not a field of entry',
        '2 minutes is required',
        '3 minutes is required',
      ],
    ],
    ['validators', 'bill', [{ amount: 1 }, { amount: -1 }], 400, ['1 amount must be a positive number']],
    [
      'unique constraints within the request',
      'entry',
      [
        { minutes: 1, number: 5 },
        { minutes: 2, number: 6 },
        { minutes: 3, number: 5 },
      ],
      409,
      ['2 number is taken by another entry'],
    ],
    [
      'references',
      'entry',
      [{ minutes: 1, parent_id: 77 }, { minutes: 2 }, { minutes: 3, parent_id: 78 }],
      400,
      ['0 parent_id points to no entry', '2 parent_id points to no entry'],
    ],
    [
      'references to records that the principal cannot see',
      'task',
      [
        { title: 'a', project_id: 1 },
        { title: 'b', project_id: 2 },
        { title: 'c', project_id: 3 },
      ],
      400,
      ['1 project_id points to no project', '2 project_id points to no project'],
    ],
  ])('reports errors with the index of the record: %s', async (_, path, bodies, status, errors) => {
    const before = await count(path)
    const reply = await request(`POST /api/${path}/`, bodies)
    expect([reply.status, errorsOf(reply).map(withoutRange)]).toEqual([status, errors])
    expect(await count(path)).toBe(before)
    expect(world.faults).toEqual([])
  })

  test('reports new records outside of the row scope', async () => {
    const reply = await request('POST /api/project/', [
      { name: 'mine', company: 1 },
      { name: 'preset' },
      { name: 'other', company: 2 },
    ])
    expect(reply.status).toBe(403)
    expect(errorsOf(reply)).toEqual(['2  you may not create this project with these values'])
    expect(await count('project')).toBe(2)
    const preset = await request('POST /api/project/', [{ name: 'preset' }, { name: 'again' }])
    expect(result(preset).objects.map(({ company }) => company)).toEqual([1, 1])
  })

  test.each<readonly [title: string, path: string, body: unknown, status: number, detail: RegExp]>([
    ['without the option', 'single/', [{ title: 'a' }], 400, /must be one JSON object; only .* option bulk/],
    ['too many', 'task/', Array(51).fill({ title: 'a', project_id: 1 }), 400, /at most 50 records, this one has 51/],
    ['other members', 'entry/', [{ minutes: 1 }, 5], 400, /record 1 of the array must be a JSON object/],
    ['with include', 'task/?include=project', [{ title: 'a', project_id: 1 }], 400, /include is not possible/],
    ['of one record with dry_run', 'entry/?dry_run=true', { minutes: 1 }, 400, /dry_run is possible for an array/],
    [
      'of one record without an option',
      'single/?dry_run=true',
      { title: 'x' },
      400,
      /dry_run is possible for an array/,
    ],
    ['with a wrong dry_run', 'entry/?dry_run=yes', [{ minutes: 1 }], 400, /dry_run.*must be true or false/],
    ['many values of a record', 'entry/', [{ note: Array(20_000).fill(0) }], 400, /record 0 .* more than 20000 values/],
    ['many values', 'entry/', Array(11).fill({ note: Array(19_000).fill(0) }), 400, /more than 200000 values/],
  ])('is refused: %s', async (_, path, body, status, detail) => {
    const reply = await request(`POST /api/${path}`, body)
    expect([reply.status, result(reply).detail]).toEqual([status, expect.stringMatching(detail)])
  })

  test.each(['PUT', 'PATCH', 'DELETE'])(
    'a %s of one record with dry_run is refused, and writes nothing',
    async (method) => {
      const { id } = Object((await request('POST /api/single/', { title: 'kept' })).json())
      const path = `/api/single/${id}/`
      const reply = await request(
        `${method} ${path}?dry_run=true`,
        method === 'DELETE' ? undefined : { title: 'changed' },
      )
      expect([reply.status, result(reply).detail]).toEqual([400, expect.stringMatching(/^dry_run is not a parameter/)])
      expect((await request(`GET ${path}`)).json()).toMatchObject({ title: 'kept' })
    },
  )

  test('dry_run checks everything and stores nothing', async () => {
    const reply = await request('POST /api/entry/?dry_run=true', [{ minutes: 1 }, { minutes: 2 }])
    expect([reply.status, reply.json()]).toEqual([
      200,
      { meta: { model: 'entry', created: 2, dry_run: true }, objects: [] },
    ])
    const refused = await request('POST /api/entry/?dry_run=true', [
      { minutes: 1, number: 1 },
      { minutes: 2, number: 1 },
    ])
    expect([refused.status, errorsOf(refused)]).toEqual([409, ['1 number is taken by another entry']])
    for (const path of ['entry/', 'single/']) {
      const single = await request(`POST /api/${path}?dry_run=true`, { minutes: 1, title: 'a' })
      expect([single.status, result(single).detail]).toEqual([
        400,
        expect.stringMatching(/^dry_run is possible for an array/),
      ])
    }
    expect(await count('entry')).toBe(0)
  })

  test('with requireIfMatch, which new records do not need', async () => {
    expect((await request('POST /api/page/', [{ title: 'a' }])).status).toBe(201)
    const options = await request('OPTIONS /api/page/')
    expect(options.headers['allow']).toBe('GET, HEAD, OPTIONS, POST')
    expect((await request('OPTIONS /api/entry/')).headers['allow']).toBe('GET, HEAD, OPTIONS, POST, PATCH, DELETE')
    expect((await request('PATCH /api/page/?title=a', { title: 'b' })).status).toBe(405)
  })
})

/** Ranges of integers depend on the column, and the order of fields on the leg. */
const withoutRange = (error: string): string => error.replace(/(must be an integer).*|; fields:.*/, '$1')

describe('PATCH and DELETE by filter', () => {
  beforeEach(async () => {
    const entries = Array.from({ length: 20 }, (_, index) => ({ minutes: index, number: index }))
    expect((await request('POST /api/entry/', entries)).status).toBe(201)
    const tasks = Array.from({ length: 10 }, (_, index) => ({
      title: `task ${index}`,
      status: index < 5 ? 'draft' : 'sent',
      project_id: 1 + (index % 2),
      secret: index < 3 ? 'low' : 'high',
    }))
    const created = await request('POST /api/task/', tasks, '', 'manager')
    expect(created.status).toBe(201)
    world.statements()
  })

  test('change all records that match, with few statements', async () => {
    const reply = await request('PATCH /api/entry/?minutes__gte=5&minutes__lt=15', { note: 'changed' })
    const statements = world.statements()
    expect([reply.status, reply.json()]).toEqual([200, { meta: { model: 'entry', updated: 10 } }])
    const changed = (await rowsOf('entry'))
      .filter(({ note }) => note === 'changed')
      .map(({ minutes }) => Number(minutes))
    expect(changed.toSorted((a, b) => a - b)).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
    expect(statements.length).toBeLessThan(8)
  })

  test.each(['PATCH', 'DELETE'])('with an ETag in If-Match, %s writes nothing', async (method) => {
    const headers = { 'If-Match': '"of-a-record"' }
    const reply = await send(world.url, `${method} /api/entry/?minutes=1`, { body: { note: 'x' }, headers })
    expect([reply.status, reply.json()]).toMatchObject([412, { detail: expect.stringMatching(/ETag of one record/) }])
    expect((await rowsOf('entry')).filter(({ minutes, note }) => Number(minutes) === 1 && note !== 'x')).toHaveLength(1)
  })

  test.each(['PATCH', 'DELETE'])('%s with "max" of a resource with a field "max" is 400', async (method) => {
    await world.dataSource.getRepository(Threshold).clear()
    await world.dataSource.getRepository(Threshold).insert([5, 9, 20].map((max) => ({ sensor: 3, max })))
    const body = { sensor: 4 }
    const refused = await request(`${method} /api/threshold/?sensor=3&max=5`, body)
    expect([refused.status, refused.json()]).toMatchObject([400, { detail: expect.stringContaining('write max__eq') }])
    expect(await world.dataSource.getRepository(Threshold).countBy({ sensor: 3 })).toBe(3)
    const written = await request(`${method} /api/threshold/?sensor=3&max__eq=5`, body)
    expect([written.status, written.text]).toEqual([200, expect.stringMatching(/"(updated|deleted)":1/)])
  })

  test.each(['PATCH', 'DELETE'])('with If-None-Match: *, %s writes nothing', async (method) => {
    const headers = { 'If-None-Match': '*' }
    const reply = await send(world.url, `${method} /api/entry/?minutes=1`, { body: { note: 'x' }, headers })
    expect([reply.status, reply.json()]).toMatchObject([
      412,
      { detail: expect.stringMatching(/without If-None-Match/) },
    ])
    expect((await rowsOf('entry')).filter(({ minutes, note }) => Number(minutes) === 1 && note !== 'x')).toHaveLength(1)
  })

  test('delete all records that match, with few statements', async () => {
    const reply = await request('DELETE /api/entry/?minutes__in=1,2,3,99')
    expect([reply.status, reply.json()]).toEqual([200, { meta: { model: 'entry', deleted: 3 } }])
    expect(await count('entry')).toBe(17)
    expect(world.statements().length).toBeLessThan(8)
  })

  test.each<readonly [line: string, body: unknown, status: number, detail: RegExp]>([
    ['PATCH /api/entry/', { note: 'x' }, 400, /needs a filter/],
    ['DELETE /api/entry/', undefined, 400, /needs a filter/],
    ['DELETE /api/entry/?max=5', undefined, 400, /needs a filter/],
    ['DELETE /api/task/', undefined, 400, /needs a filter or a search/],
    ['DELETE /api/entry/?minutes=1&limit=5', undefined, 400, /limit is not possible .*; use max/],
    ['DELETE /api/entry/?minutes=1&page=2', undefined, 400, /page is not possible/],
    ['DELETE /api/entry/?minutes=1&ordering=id', undefined, 400, /ordering is not possible/],
    ['PATCH /api/entry/?minutes=1&include=parent', { note: 'x' }, 400, /include is not possible/],
    ['DELETE /api/entry/?nope=1', undefined, 400, /nope/],
    ['DELETE /api/entry/?minutes=x', undefined, 400, /minutes/],
    ['DELETE /api/entry/?minutes=1&max=0', undefined, 400, /max must be an integer from 1 to 1000/],
    ['DELETE /api/entry/?minutes=1&max=1001', undefined, 400, /max must be an integer from 1 to 1000/],
    ['DELETE /api/entry/?minutes=1&max=2&max=3', undefined, 400, /max is given twice/],
    ['DELETE /api/task/?secret=low', undefined, 400, /secret/],
    ['PATCH /api/entry/?minutes=1', {}, 400, /the body has no field to change/],
    ['PATCH /api/entry/?minutes=1', [], 400, /must be one JSON object/],
    ['PATCH /api/entry/?minutes=1', { id: 5 }, 400, /id is read-only/],
    ['PATCH /api/entry/?minutes=1', { minutes: null }, 400, /minutes must be an integer/],
    ['PATCH /api/entry/?minutes=1', { parent_id: 9999 }, 400, /parent_id points to no entry/],
    ['PATCH /api/entry/?minutes__in=1,2', { number: 100 }, 409, /same number/],
    ['PATCH /api/entry/?minutes__gte=0&max=19', { note: 'x' }, 409, /more than 19 records match/],
    ['DELETE /api/entry/?minutes__gte=0&max=19', undefined, 409, /more than 19 records match/],
    ['PUT /api/entry/?minutes=1', { note: 'x' }, 405, /PUT is not allowed/],
    ['PATCH /api/single/?title=a', { title: 'x' }, 405, /PATCH is not allowed/],
    ['PATCH /api/task/?title=x', { stamp: 'x' }, 400, /stamp is read-only/],
  ])('%s is refused: %j', async (line, body, status, detail) => {
    const before = await rowsOf('entry')
    const reply = await request(line, body)
    expect([reply.status, result(reply).detail]).toEqual([status, expect.stringMatching(detail)])
    expect(await rowsOf('entry')).toEqual(before)
    expect(world.faults).toEqual([])
  })

  test.each<readonly [line: string, body: unknown, status: number, count: number | undefined]>([
    // Person 1 sees the tasks 0, 2, 4 (drafts), 6 and 8 (sent) of company 1.
    ['PATCH /api/task/?status=draft', { size: 9 }, 200, 3],
    ['PATCH /api/task/?id__gt=0', { size: 9 }, 403, undefined],
    ['PATCH /api/task/?status=draft', { status: 'sent' }, 200, 3],
    ['PATCH /api/task/?status=draft', { status: 'lost' }, 403, undefined],
    ['PATCH /api/task/?status=draft', { project_id: 2 }, 400, undefined],
    ['PATCH /api/task/?title=task 1', { size: 9 }, 200, 0],
    ['DELETE /api/task/?status=draft', undefined, 200, 3],
    ['DELETE /api/task/?status=sent', undefined, 403, undefined],
    ['DELETE /api/task/?project__name=one&status=draft', undefined, 200, 3],
    ['DELETE /api/task/?project__name=two', undefined, 200, 0],
    ['DELETE /api/task/?search=task 2', undefined, 200, 1],
    ['DELETE /api/task/?or=(title:task 0,title:task 1)', undefined, 200, 1],
  ])('write only what the principal sees and may write: %s %j', async (line, body, status, affected) => {
    const before = await rowsOf('task')
    const reply = await request(line.replaceAll(' 0', '%200').replaceAll(/task (\d)/g, 'task%20$1'), body)
    expect([reply.status, reply.status === 200 ? Object.values(result(reply).meta)[1] : undefined]).toEqual([
      status,
      affected,
    ])
    const after = await rowsOf('task')
    if (status !== 200) expect(after).toEqual(before)
    // Tasks of company 2 are as they were.
    const others = (rows: typeof after) => rows.filter((row) => Number(row['projectId']) === 2)
    expect(others(after)).toEqual(others(before))
    expect(world.faults).toEqual([])
  })

  test('soft deletion, composite keys and trees', async () => {
    await request('POST /api/tag/', [{ name: 'a' }, { name: 'b' }])
    expect((await request('DELETE /api/tag/?name=a')).json()).toEqual({ meta: { model: 'tag', deleted: 1 } })
    expect((await request('DELETE /api/tag/?name__in=a,b')).json()).toEqual({ meta: { model: 'tag', deleted: 1 } })
    expect(await count('tag')).toBe(2)
    await request('POST /api/seat/', [
      { row: 'a', number: 1 },
      { row: 'a', number: 2 },
      { row: 'b', number: 1 },
    ])
    expect((await request('PATCH /api/seat/?number=1', { price: 7 })).json()).toEqual({
      meta: { model: 'seat', updated: 2 },
    })
    expect((await request('DELETE /api/seat/?price=7')).json()).toEqual({ meta: { model: 'seat', deleted: 2 } })
    const folders = await request('POST /api/folder/', [{ name: 'root' }, { name: 'x' }])
    const [root] = result(folders).objects
    const moved = await request('PATCH /api/folder/?name=x', { parent_id: root?.['id'] })
    expect(moved.json()).toEqual({ meta: { model: 'folder', updated: 1 } })
    const cyclic = await request('PATCH /api/folder/?name__in=x,root', { parent_id: root?.['id'] })
    expect([cyclic.status, result(cyclic).detail]).toEqual([400, expect.stringMatching(/its own ancestor/)])
  })

  test('keys of dates and of large integers', async () => {
    await request('POST /api/shift/', [
      { day: '2024-02-28', place: '9007199254740993' },
      { day: '2024-02-29', place: '9007199254740993' },
    ])
    const changed = await request('PATCH /api/shift/?day=2024-02-29', { hours: 8 })
    expect(changed.json()).toEqual({ meta: { model: 'shift', updated: 1 } })
    const deleted = await request('DELETE /api/shift/?hours=8')
    expect(deleted.json()).toEqual({ meta: { model: 'shift', deleted: 1 } })
    expect((await request('GET /api/shift/?fields=day')).json()).toMatchObject({ objects: [{ day: '2024-02-28' }] })
  })

  test('call listeners and validators for each record', async () => {
    await request('POST /api/bill/', [{ amount: 1 }, { amount: 2 }, { amount: 3 }])
    calls.length = 0
    expect((await request('PATCH /api/bill/?amount__lt=3', { label: 'new' })).json()).toEqual({
      meta: { model: 'bill', updated: 2 },
    })
    expect(calls).toEqual(['update 1', 'update 2'])
    const invalid = await request('PATCH /api/bill/?amount__lt=3', { amount: -1 })
    expect([invalid.status, result(invalid).detail]).toEqual([
      400,
      expect.stringMatching(/amount must be a positive number/),
    ])
    const refused = await request('PATCH /api/bill/?amount__lt=9', { label: 'fail 3' })
    expect(refused.status).toBe(409)
    expect((await rowsOf('bill')).filter(({ label }) => label === 'fail 3')).toEqual([])
    expect((await request('DELETE /api/bill/?amount__gt=1')).json()).toEqual({ meta: { model: 'bill', deleted: 2 } })
    expect(calls.slice(-2)).toEqual(['removed 2', 'removed 3'])
  })

  test('with listeners: other requests run meanwhile', async () => {
    await request('POST /api/bill/', Array(120).fill({ amount: 1 }))
    countTicks()
    // On servers, each statement lets others run. On better-sqlite3, the listeners take 60 milliseconds in all.
    for (const method of ['PATCH', 'DELETE']) {
      ticks.clear()
      const reply = await request(`${method} /api/bill/?amount=1`, method === 'PATCH' ? { label: 'new' } : undefined)
      expect([reply.status, ticks.size > 2]).toEqual([200, true])
    }
    clearImmediate(timer)
  })

  test('by an owner: records of others refuse the request', async () => {
    for (const person of ['1', '2']) {
      const reply = await request('POST /api/remark/', [{ text: 'a' }, { text: 'b', project_id: 1 }], person)
      expect(reply.status).toBe(201)
      expect(result(reply).objects.map(({ project_id }) => project_id)).toEqual([Number(person), Number(person)])
    }
    const refused = await request('PATCH /api/remark/?text=a', { text: 'c' })
    expect([refused.status, (refused.json() as { type: string }).type]).toEqual([
      403,
      'urn:typeorm-resources:not-owner',
    ])
    const own = await request('PATCH /api/remark/?text=a&project=1', { text: 'c' })
    expect(own.json()).toEqual({ meta: { model: 'remark', updated: 1 } })
    expect((await request('DELETE /api/remark/?text=c&project=1')).json()).toEqual({
      meta: { model: 'remark', deleted: 1 },
    })
    expect((await request('DELETE /api/remark/?project=2')).status).toBe(403)
  })

  test('at the same time write each record once', async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => request('DELETE /api/entry/?minutes__lt=10')))
    const counts = replies.map((reply) => (reply.status === 200 ? (result(reply).meta.deleted ?? 0) : 0))
    expect(replies.map(({ status }) => status).filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(counts.reduce((sum, one) => sum + one, 0)).toBe(10)
    expect(await count('entry')).toBe(10)
  })

  test('of referenced records is a conflict', async () => {
    const [first] = await rowsOf('entry')
    await request('POST /api/entry/', { minutes: 50, parent_id: first?.['id'] })
    const reply = await request(`DELETE /api/entry/?minutes=${first?.['minutes']}`)
    expect([reply.status, result(reply).detail]).toEqual([409, expect.stringMatching(/other records refer to it/)])
  })
})

test('the OpenAPI document describes bulk writes of the resources that have them', async () => {
  const { paths } = (await request('GET /api/openapi.json')).json() as {
    paths: Record<string, Record<string, { operationId: string; parameters: { name: string }[]; requestBody?: object }>>
  }
  const methodsOf = (path: string): readonly string[] => Object.keys(paths[path] ?? {}).toSorted()
  expect(methodsOf('/entry')).toEqual(['delete', 'get', 'patch', 'post'])
  expect(methodsOf('/page')).toEqual(['get', 'post'])
  expect(methodsOf('/single')).toEqual(['get', 'post'])
  const { patch, post } = paths['/entry'] ?? {}
  const names = patch?.parameters.map(({ name }) => name) ?? []
  expect(names).toEqual(expect.arrayContaining(['minutes', 'minutes__gte', 'or', 'max']))
  expect(names).not.toEqual(expect.arrayContaining(['limit']))
  const { content } = (post?.requestBody ?? {}) as { content: Record<string, { schema: { anyOf?: unknown[] } }> }
  expect(Object.keys(content)).toEqual(expect.arrayContaining(['application/x-ndjson', 'text/csv']))
  expect(content['application/json']?.schema.anyOf).toHaveLength(2)
})
