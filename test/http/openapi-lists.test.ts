import Ajv2020 from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import {
  Column,
  type DataSource,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { openWorld, type World } from '../world/world'

/** The OpenAPI document describes the responses with `fields`, `include`, `aggregate` and `format`, and these parameters. */

/** The principal that the header `x-person` names. */
const byHeader: Rule = ({ context }) => ({ id: Number(context.get('x-person') || 0) })
const isFirst = ({ id }: { readonly id?: unknown }): boolean => id === 1

@Entity()
@Resource({ auth: byHeader, fields: { wage: { read: isFirst } }, aggregate: true })
class Worker {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @Column() wage!: number
}

class Site {
  @Column({ length: 20 }) city!: string
  @ManyToOne(() => Worker, { nullable: true }) keeper!: Relation<Worker> | null
}

@Entity()
@Resource({
  auth: byHeader,
  aggregate: true,
  search: ['title'],
  formats: ['csv', 'ndjson'],
  fields: { boss: { read: isFirst } },
})
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @Column({ type: Number, nullable: true }) minutes!: number | null
  @Column({ type: 'bigint' }) size!: string
  @Column({ type: 'decimal', precision: 12, scale: 3 }) cost!: string
  @Column({ type: 'double precision' }) ratio!: number
  @Column({ type: 'date' }) due!: string
  @Column() done!: boolean
  @Column(() => Site) site!: Site
  @ManyToOne(() => Worker, { nullable: true }) assignee!: Relation<Worker> | null
  @ManyToOne(() => Worker, { nullable: true }) boss!: Relation<Worker> | null
  @OneToMany(
    () => Remark,
    (remark) => remark.task,
  )
  remarks!: Relation<Remark>[]
  @ManyToMany(() => Worker)
  @JoinTable()
  watchers!: Relation<Worker>[]
}

/** Has fields with the names of members that an include adds, and of a parameter. */
@Entity()
@Resource({ auth: byHeader })
class Remark {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) fields!: string
  @Column({ length: 20 }) replies_next!: string
  @ManyToOne(
    () => Task,
    (task) => task.remarks,
  )
  task!: Relation<Task>
  @OneToMany(
    () => Reply,
    (reply) => reply.remark,
  )
  replies!: Relation<Reply>[]
}

@Entity()
@Resource({ auth: byHeader, aggregate: ['score'] })
class Reply {
  @PrimaryGeneratedColumn() id!: number
  @Column() score!: number
  @Column() other!: number
  @ManyToOne(
    () => Remark,
    (remark) => remark.replies,
  )
  remark!: Relation<Remark>
}

interface Parameter {
  readonly name: string
  readonly schema: {
    readonly enum?: readonly string[]
    readonly examples?: readonly unknown[]
    readonly items?: { readonly enum?: readonly string[]; readonly anyOf?: readonly { enum?: readonly string[] }[] }
  }
}

interface Document {
  readonly paths: Readonly<Record<string, { readonly get: { readonly parameters: readonly Parameter[] } }>>
}

const manager = { 'x-person': '1' }
const worker = { 'x-person': '2' }

let world: World
let documents: ReadonlyMap<object, Document>
let validators: ReadonlyMap<object, Ajv2020>
beforeAll(async () => {
  world = await openWorld({ entities: [Worker, Task, Remark, Reply], mount: { openapi: byHeader }, seed })
  const described = [manager, worker].map(async (headers) => {
    const reply = await send(world.url, 'GET /api/openapi.json', { headers })
    return [headers, reply.json() as Document] as const
  })
  documents = new Map(await Promise.all(described))
  validators = new Map([...documents].map(([reader, document]) => [reader, validatorOf(document)]))
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

async function seed(dataSource: DataSource): Promise<void> {
  const save = (entity: new () => object, records: readonly object[]): Promise<unknown> =>
    dataSource.getRepository<object>(entity).save([...records])
  await save(Worker, [
    { name: 'Ann', wage: 10 },
    { name: 'Bob', wage: 20 },
  ])
  const task = { size: '9007199254740993', cost: '1.125', ratio: 0.5, due: '2024-02-29', done: false }
  const [ann, bob] = [{ id: 1 }, { id: 2 }]
  await save(Task, [
    { ...task, title: 'One', minutes: 5, site: { city: 'Lima', keeper: ann }, assignee: ann, boss: bob },
    { ...task, title: 'Two', minutes: null, site: { city: 'Oslo' }, watchers: [ann, bob] },
  ])
  await save(
    Remark,
    [1, 1, 2].map((id) => ({ fields: 'a', replies_next: 'b', task: { id } })),
  )
  await save(Reply, [{ score: 1, other: 2, remark: { id: 1 } }])
}

function validatorOf(document: Document): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats(ajv)
  return ajv.addFormat('decimal', true).addSchema({ ...document, $id: 'openapi' })
}

const listSchema = (resource: string): string =>
  `paths/~1${resource}/get/responses/200/content/application~1json/schema`
const itemSchema = (resource: string): string =>
  `paths/~1${resource}~1%7Bid%7D/get/responses/200/content/application~1json/schema`

/** The errors of a value by a schema of the document for a reader. */
function errorsOf(reader: object, schema: string, value: unknown): unknown {
  const validate = validators.get(reader)?.getSchema(`openapi#/${schema}`)
  if (validate === undefined) throw new TypeError(`the document has no schema ${schema}`)
  return validate(value) ? undefined : validate.errors
}

const parametersOf = (resource: string, reader: object = manager): ReadonlyMap<string, Parameter['schema']> =>
  new Map(documents.get(reader)?.paths[`/${resource}`]?.get.parameters.map(({ name, schema }) => [name, schema]))
const namesOf = (schema: Parameter['schema'] | undefined): readonly string[] =>
  schema?.enum ?? schema?.items?.enum ?? schema?.items?.anyOf?.[0]?.enum ?? []

const lists = [
  'task/?fields=title',
  'task/?fields=site&include=assignee(fields:name)',
  'task/?include=assignee,boss,remarks(limit:1),watchers(limit:1,count:exact),site__keeper',
  'task/?include=remarks(count:exact,limit:0,include:(task(include:(watchers))))',
  'task/?fields=id&include=watchers(limit:1,fields:id)&count=exact',
  'task/?count=capped&search=two',
  'remark/?include=task',
  'task/?aggregate=count,minutes__sum,minutes__avg,size__sum,cost__sum,cost__max,ratio__sum,due__max',
  'task/?aggregate=count,title__count_distinct&by=site__city,due__month,assignee,assignee_id&ordering=-count',
  'task/?aggregate=size__min&by=title,done,due',
  'task/?aggregate=assignee__name__count_distinct,assignee_id__id__max&by=site__keeper__name',
  'task/?aggregate=count,size__sum,cost__sum,ratio__avg,due__min&id=0',
]
test.each(lists)('the page of %s matches the document', async (path) => {
  const reader = path.includes('boss') ? manager : worker
  const reply = await send(world.url, `GET /api/${path}`, { headers: reader })
  expect([reply.status, errorsOf(reader, listSchema(path.split('/')[0] ?? ''), reply.json())]).toEqual([200, undefined])
})

test.each(['', '?fields=title', '?include=assignee,boss,remarks,watchers,site__keeper', '?fields=due&include=remarks'])(
  'the item task/1/%s matches the document',
  async (query) => {
    const reply = await send(world.url, `GET /api/task/1/${query}`, { headers: manager })
    expect([reply.status, errorsOf(manager, itemSchema('task'), reply.json())]).toEqual([200, undefined])
  },
)

test('a write with include matches the document', async () => {
  const line = 'PATCH /api/task/1/?include=assignee(fields:name),remarks'
  const reply = await send(world.url, line, { headers: manager, body: { title: 'One' } })
  expect(reply.json()).toHaveProperty('remarks_next', '')
  expect(errorsOf(manager, 'components/schemas/task', reply.json())).toBeUndefined()
})

test('the lines of NDJSON and the header of CSV match the document', async () => {
  const content = 'paths/~1task/get/responses/200/content'
  const { text } = await send(world.url, 'GET /api/task/?format=ndjson&fields=title', { headers: worker })
  const lines = text.trim().split('\n')
  expect(lines).toHaveLength(2)
  for (const line of lines) {
    expect(errorsOf(worker, `${content}/application~1x-ndjson/x-itemSchema`, JSON.parse(line))).toBeUndefined()
  }
  const csv = await send(world.url, 'GET /api/task/?format=csv', { headers: worker })
  const [header = ''] = csv.text.split('\r\n')
  expect(JSON.stringify(documents.get(worker))).toContain(
    `The first row has the names of the fields: ${header.replaceAll(',', ', ')}.`,
  )
})

const meta = { model: 'task', page: 1, next: '', previous: '' }
const wrongRecords: readonly (readonly [string, object])[] = [
  ['a record without its id', { title: 'a' }],
  ['a related record that is a number', { id: 1, assignee: 5 }],
  ['a related record without its id', { id: 1, assignee: { name: 'Ann' } }],
  ['a list that is null', { id: 1, remarks: null }],
  ['a path of further records that must not be null', { id: 1, remarks_next: null }],
  ['a number of related records that is a text', { id: 1, remarks_total: '1' }],
  ['a related record in an embedded object that is a list', { id: 1, site: { keeper: [] } }],
]
test.each(wrongRecords)('%s does not match the schema of records', (_, value) => {
  expect(errorsOf(manager, 'components/schemas/task.selected', value)).toBeDefined()
})

const wrongGroups: readonly (readonly [string, object])[] = [
  ['without members', {}],
  ['with a member that no parameter can name', { count: 1, title__sum: 1 }],
  ['with a count that is a text', { count: '1' }],
  ['with a sum of integers that is a fraction', { minutes__sum: 1.5 }],
  ['with a sum of decimals that is a number', { cost__sum: 1.5 }],
  ['with a week that is no date', { due__week: '2024-W01' }],
  ['with a value of a related record that is an object', { assignee__name: {} }],
]
test.each(wrongGroups)('a group %s does not match the document', (_, value) => {
  expect(errorsOf(manager, listSchema('task'), { meta, objects: [value] })).toBeDefined()
})

test('a page with right groups matches the document', () => {
  const group = { count: 1, minutes__sum: null, size__sum: '9007199254740993', cost__sum: '1.5', due__week: null }
  expect(errorsOf(manager, listSchema('task'), { meta, objects: [group] })).toBeUndefined()
})

const ownNames = [
  ['task', 'aggregate'],
  ['task', 'by'],
  ['task', 'fields'],
  ['task', 'format'],
  ['worker', 'aggregate'],
  ['reply', 'aggregate'],
  ['reply', 'by'],
] as const
test.each(ownNames)('the list of %s accepts each described name of the parameter %s', async (resource, parameter) => {
  const schema = parametersOf(resource).get(parameter)
  const names = [...namesOf(schema), ...(schema?.examples ?? []).map(String)]
  expect(names.length).toBeGreaterThan(1)
  const before = parameter === 'by' ? 'aggregate=count&' : ''
  for (const name of names) {
    const reply = await send(world.url, `GET /api/${resource}/?${before}${parameter}=${name}`, { headers: manager })
    expect([name, reply.status, reply.text]).toEqual([name, 200, expect.anything()])
    if (parameter === 'format') continue
    expect([name, errorsOf(manager, listSchema(resource), reply.json())]).toEqual([name, undefined])
  }
})

test.each(['include', 'search'])('the list of task accepts the example of the parameter %s', async (parameter) => {
  const [example] = parametersOf('task').get(parameter)?.examples ?? []
  const reply = await send(world.url, `GET /api/task/?${parameter}=${encodeURIComponent(String(example))}`, {
    headers: manager,
  })
  expect([example, reply.status]).toEqual([expect.any(String), 200])
})

test('names of functions and keys are those that requests can have', () => {
  expect(namesOf(parametersOf('reply').get('aggregate'))).toEqual([
    ...['count', 'score__sum', 'score__avg', 'score__min', 'score__max', 'score__count_distinct'],
  ])
  expect(namesOf(parametersOf('reply').get('by'))).toEqual(['score'])
  const functions = namesOf(parametersOf('task').get('aggregate'))
  expect(functions).toEqual(expect.arrayContaining(['cost__sum', 'due__max', 'assignee_id__count_distinct']))
  for (const name of ['title__sum', 'due__sum', 'done__min', 'remarks__count_distinct']) {
    expect(functions).not.toContain(name)
  }
})

test('the pattern of include matches what requests can have', () => {
  const { pattern = '' } = Object(parametersOf('task').get('include'))
  const matching = ['assignee', 'remarks(limit:1,include:(task)),assignee', 'site__keeper(fields:id)']
  const others = ['', 'nobody', 'assignee_id', 'assignee,', 'assigneeX', 'nobody,assignee', 'assignee(']
  expect(matching.filter((text) => !new RegExp(pattern).test(text))).toEqual([])
  expect(others.filter((text) => new RegExp(pattern).test(text))).toEqual([])
})

test('a list of related records whose link would replace a field is not described, and refused', async () => {
  expect(Object(parametersOf('remark').get('include')).pattern).not.toContain('replies')
  const { status } = await send(world.url, 'GET /api/remark/?include=replies', { headers: manager })
  expect(status).toBe(400)
})

test('what the reader may not read is nowhere in the document', () => {
  const [full, restricted] = [manager, worker].map((reader) => JSON.stringify(documents.get(reader)))
  for (const name of [/\bwage\b/, /wage__sum/, /assignee__wage/, /\bboss\b/]) {
    expect(full).toMatch(name)
  }
  expect(restricted).not.toMatch(/wage|boss/)
})
