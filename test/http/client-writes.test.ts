import { Column, Entity, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import {
  type Client,
  createClient,
  etagOf,
  type FieldError,
  type FiltersOf,
  ResourceError,
} from 'typeorm-resources/client'
import { permitAllAsUser1 } from '../support/access'
import { rejection } from '../support/rejection'
import { openWorld, type World } from '../world/world'

/** Writes of several records with the typed client. */

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true, search: ['title'] })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @Column({ type: 'integer', default: 1 }) size!: number
  /** Has the name of a parameter. */
  @Column({ type: 'integer', default: 0 }) limit!: number
  @Column({ type: 'varchar', length: 20, unique: true, nullable: true }) code!: string | null
  @ManyToOne(() => Project, { nullable: true }) project!: Relation<Project> | null
}

/** Has a field with the name of the parameter `max`. */
@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Threshold {
  @PrimaryGeneratedColumn() id!: number
  @Column() max!: number
}

interface Resources {
  project: Project
  threshold: Threshold
  task: Task
}

let world: World
let api: Client<Resources>
/** Requests of the client: method, path and query string. */
const requests: string[] = []

beforeAll(async () => {
  world = await openWorld({ entities: [Project, Task, Threshold], mount: { batch: true } })
  api = createClient<Resources>(`${world.url}/api`, {
    fetch: (url, request) => {
      requests.push(`${request?.method} ${decodeURIComponent(String(url).slice(`${world.url}/api`.length))}`)
      return fetch(url, request)
    },
  })
})
beforeEach(async () => {
  await world.sql('DELETE FROM "task"')
  await world.sql('DELETE FROM "project"')
  requests.length = 0
})
afterAll(() => world.close())

const refusalOf = (work: Promise<unknown>): Promise<ResourceError> => rejection(work, ResourceError)
const titles = async (): Promise<readonly string[]> =>
  (await api.task.list({}, { ordering: 'id' })).objects.map(({ title }) => title)

describe('Bulk writes', () => {
  test('createMany returns the new records in the order of the array', async () => {
    const { id } = await api.project.create({ name: 'p' })
    const made = await api.task.createMany([{ title: 'a', project_id: id }, { title: 'b', size: 5 }, { title: 'c' }])
    expect(made).toMatchObject([
      { title: 'a', size: 1, project_id: id },
      { title: 'b', size: 5, project_id: null },
      { title: 'c', size: 1 },
    ])
    expect((await api.task.list({}, { ordering: 'id' })).objects).toEqual(made)
    expect(requests.slice(1)).toEqual(['POST /task/', 'GET /task/?ordering=id'])
  })

  test('errors of records have their index, and nothing is written', async () => {
    const { status, errors } = await refusalOf(
      api.task.createMany([{ title: 'a' }, { title: 'x'.repeat(21), size: 1.5 }, {}]),
    )
    expect(status).toBe(400)
    const positions = errors.map(({ index, field }: FieldError) => [index, field])
    expect(positions).toEqual([
      [1, 'title'],
      [1, 'size'],
      [2, 'title'],
    ])
    const taken = await refusalOf(
      api.task.createMany([{ title: 'a' }, { title: 'b', code: 'x' }, { title: 'c', code: 'x' }]),
    )
    expect([taken.status, taken.errors.map(({ index, field }) => [index, field])]).toEqual([409, [[2, 'code']]])
    expect(await titles()).toEqual([])
  })

  const tasks = [
    { title: 'alpha', size: 1 },
    { title: 'beta', size: 2 },
    { title: 'gamma', size: 2, limit: 7 },
    { title: 'delta one', size: 3 },
  ]
  const matches: readonly (readonly [
    rule: string,
    filters: FiltersOf<Task, Resources>,
    options: { readonly search?: string; readonly max?: number },
    remaining: readonly string[],
  ])[] = [
    ['a filter', { size: 2 }, {}, ['alpha', 'delta one']],
    ['a filter, with as many matches as max', { size: 2 }, { max: 2 }, ['alpha', 'delta one']],
    ['several filters', { size__gte: 2, title__like: '%a' }, {}, ['alpha', 'delta one']],
    ['a group', { or: [{ size: 1 }, { not: { size__lt: 3 } }] }, {}, ['beta', 'gamma']],
    ['a search', {}, { search: 'delta one' }, ['alpha', 'beta', 'gamma']],
    ['a field with the name of a parameter', { limit: 7 }, {}, ['alpha', 'beta', 'delta one']],
    ['a list of ids without a match', { id__in: [0] }, {}, ['alpha', 'beta', 'gamma', 'delta one']],
  ]
  test.each(matches)(
    'updateMany and deleteMany return the number of records: %s',
    async (_, filters, options, left) => {
      await api.task.createMany(tasks)
      requests.length = 0
      const changed = tasks.length - left.length
      expect(await api.task.updateMany(filters, { code: null }, options)).toBe(changed)
      expect(await api.task.deleteMany(filters, options)).toBe(changed)
      expect(requests.map((line) => line.split(' ')[0])).toEqual(['PATCH', 'DELETE'])
      expect(await titles()).toEqual(left)
    },
  )

  test('updateMany changes the fields of all matching records', async () => {
    await api.task.createMany(tasks)
    expect(await api.task.updateMany({ size: 2 }, { size: 9 })).toBe(2)
    expect((await api.task.list({ size: 9 }, { ordering: 'id' })).objects.map(({ title }) => title)).toEqual([
      'beta',
      'gamma',
    ])
    const { errors } = await refusalOf(api.task.updateMany({ size: 9 }, { title: 'x'.repeat(21) }))
    expect(errors).toMatchObject([{ field: 'title' }])
  })

  test('a field with the name of the parameter max is a filter, and then the parameter is not possible', async () => {
    await api.threshold.createMany([{ max: 5 }, { max: 9 }])
    expect(await api.threshold.updateMany({ max: 5 }, { max: 6 })).toBe(1)
    const refused = await refusalOf(api.threshold.deleteMany({ max__gt: 0 }, { max: 10 }))
    expect([refused.status, refused.errors]).toMatchObject([400, [{ field: 'max' }]])
    expect(await api.threshold.deleteMany({ max: 9 })).toBe(1)
    expect((await api.threshold.list()).objects.map(({ max }) => max)).toEqual([6])
  })

  test('more records than max are a conflict, and nothing is written', async () => {
    await api.task.createMany(tasks)
    expect((await refusalOf(api.task.deleteMany({ size: 2 }, { max: 1 }))).status).toBe(409)
    expect((await refusalOf(api.task.updateMany({ size: 2 }, { size: 9 }, { max: 1 }))).status).toBe(409)
    expect((await api.task.list({}, { ordering: 'id' })).objects.map(({ size }) => size)).toEqual([1, 2, 2, 3])
  })

  const none = 'updateMany and deleteMany need a filter or a search'
  test.each<readonly [filters: FiltersOf<Task, Resources>, message: string]>([
    [{}, none],
    [{ size: undefined }, 'filters.size is undefined: updateMany and deleteMany need a value for it'],
    [{ title: 'a', size: undefined }, 'filters.size is undefined'],
    [{ or: [{ size: 1 }, { title: 'a', size: undefined }] }, 'filters.or.1.size is undefined'],
    [{ not: undefined }, 'filters.not is undefined'],
    [{ size__in: [1, undefined as unknown as number] }, 'filters.size__in.1 is undefined'],
    [{ title: null as unknown as string }, 'filters.title is null: updateMany and deleteMany need a value for it'],
    [{ title__in: ['a', null as unknown as string] }, 'filters.title__in.1 is null'],
  ])(
    'filters that could match more records than intended are refused before a request is sent: %j',
    async (filters, message) => {
      for (const work of [api.task.updateMany(filters, { size: 1 }), api.task.deleteMany(filters)])
        expect((await rejection(work, TypeError)).message).toContain(message)
      expect((await rejection(api.task.deleteMany({}, { search: '' }), TypeError)).message).toContain(none)
      // @ts-expect-error: filters are required
      expect((await rejection(api.task.deleteMany(), TypeError)).message).toContain('filters is undefined')
      expect(requests).toEqual([])
    },
  )

  test('a resource without the option refuses them', async () => {
    expect((await refusalOf(api.project.createMany([{ name: 'a' }]))).status).toBe(400)
    expect((await refusalOf(api.project.updateMany({ id: 1 }, { name: 'a' }))).status).toBe(405)
    expect((await refusalOf(api.project.deleteMany({ id: 1 }))).status).toBe(405)
  })
})

describe('Upserts', () => {
  test('upsert creates a record, and changes it if there is one with the same values', async () => {
    const made = await api.task.upsert({ title: 'a', code: 'x', size: 5 }, { on: 'code' })
    expect(made).toMatchObject({ created: true, record: { title: 'a', code: 'x', size: 5 } })
    const changed = await api.task.upsert({ title: 'b', code: 'x' }, { on: ['code'], include: { project: true } })
    expect(changed).toEqual({ created: false, record: { ...made.record, title: 'b', project: null } })
    expect(requests).toEqual(['POST /task/?on_conflict=code', 'POST /task/?include=project&on_conflict=code'])
    const late = api.task.update(made.record.id, { size: 1 }, { ifMatch: etagOf(made.record) })
    expect((await refusalOf(late)).status).toBe(412)
  })

  test('upsertMany writes several records in one transaction', async () => {
    const { id } = await api.task.create({ title: 'a', code: 'x' })
    const records = [
      { title: 'new', code: 'y' },
      { title: 'changed', code: 'x' },
      { title: 'other', code: 'z' },
    ]
    const { created, updated, ids } = await api.task.upsertMany(records, { on: 'code' })
    expect([created, updated, ids.length, ids[1]]).toEqual([2, 1, 3, id])
    expect((await api.task.list({ id__in: ids }, { ordering: 'code' })).objects.map(({ title }) => title)).toEqual([
      'changed',
      'new',
      'other',
    ])
    const { errors } = await refusalOf(api.task.upsertMany([{ title: 'b', code: 'y' }, { title: 'c' }], { on: 'code' }))
    expect(errors).toMatchObject([{ index: 1, field: 'code' }])
  })

  test('fields without a unique constraint are refused', async () => {
    const { errors } = await refusalOf(api.task.upsert({ title: 'a' }, { on: ['title', 'size'] }))
    expect(errors).toMatchObject([{ field: 'on_conflict' }])
    // @ts-expect-error: the fields are required
    expect((await refusalOf(api.task.upsert({ title: 'a' }, {}))).status).toBe(400)
    expect(await titles()).toEqual([])
  })
})

describe('Batches', () => {
  test('the result has the results of the operations, which can refer to earlier ones', async () => {
    const { id } = await api.task.create({ title: 'old', code: 'old' })
    requests.length = 0
    const [project, first, others, changed, upserted, deleted, count] = await api.$batch(({ project, task }) => {
      const made = project.create({ name: 'p' })
      const one = task.create({ title: 'one', project_id: made.ref('id') })
      return [
        made,
        one,
        task.createMany([{ title: 'two', project_id: made.ref('id') }, { title: 'three' }]),
        task.updateMany({ title: 'three' }, { size: one.ref('size'), project_id: made.ref('id') }),
        task.upsert({ title: one.ref('title'), code: 'old' }, { on: 'code' }),
        task.delete(id),
        task.deleteMany({ title: 'two' }),
      ]
    })
    expect(requests).toEqual(['POST /-/batch'])
    expect(project).toMatchObject({ name: 'p' })
    expect(first).toMatchObject({ title: 'one', project_id: project.id })
    expect(others).toMatchObject([{ title: 'two', project_id: project.id }, { title: 'three' }])
    expect([changed, upserted.created, upserted.record.title, deleted, count]).toEqual([1, false, 'one', undefined, 1])
    const { objects } = await api.task.list({}, { ordering: 'id' })
    expect(objects.map(({ title, project_id }) => [title, project_id])).toEqual([
      ['one', project.id],
      ['three', project.id],
    ])
  })

  test('operations of an array are run in its order, whatever the order in which they were built', async () => {
    const names = ['a', 'b', 'c']
    const made = await api.$batch(({ project }) => names.map((name) => project.create({ name })).toReversed())
    expect(made.map(({ name }) => name)).toEqual(['c', 'b', 'a'])
    const [one, other] = await api.$batch(({ project, task }) => {
      const task1 = task.create({ title: 't' })
      const made1 = project.create({ name: 'p' })
      return [made1, task1, task.create({ title: 'u', project_id: made1.ref('id') })]
    })
    expect([one.name, other.title]).toEqual(['p', 't'])
  })

  test('update sends ifMatch, and results have the ETag of their record', async () => {
    const { id } = await api.task.create({ title: 'a' })
    const tag = etagOf(await api.task.get(id))
    const [changed] = await api.$batch(({ task }) => [task.update(id, { size: 2 }, { ifMatch: tag })])
    expect(etagOf(changed)).toBe(etagOf(await api.task.get(id)))
    const late = api.$batch(({ task }) => [task.update(id, { size: 3 }, { ifMatch: tag }), task.delete(id)])
    expect(await refusalOf(late)).toMatchObject({ status: 412, problem: { index: 0 } })
    const gone = api.$batch(({ task }) => [task.delete(id, { ifMatch: etagOf(changed) }), task.delete(id)])
    expect(await refusalOf(gone)).toMatchObject({ status: 404, problem: { index: 1 } })
    await api.$batch(({ task }) => [task.delete(id, { ifMatch: etagOf(changed) })])
    expect(await titles()).toEqual([])
  })

  test('the error of a batch has the index of the refused operation, and nothing is written', async () => {
    const long = 'x'.repeat(21)
    const refusal = await refusalOf(
      api.$batch(({ project, task }) => [
        project.create({ name: 'p' }),
        task.createMany([{ title: 'a' }, { title: long }]),
      ]),
    )
    expect(refusal).toMatchObject({ status: 400, problem: { index: 1 }, errors: [{ index: 1, field: 'title' }] })
    expect((await api.project.list()).objects).toEqual([])
  })

  const misuses: readonly (readonly [name: string, work: () => Promise<unknown>, error: object])[] = [
    [
      'an operation that refers to one that is not part of the batch',
      () =>
        api.$batch(({ project, task }) => [
          task.create({ title: 'a', project_id: project.create({ name: 'p' }).ref('id') }),
        ]),
      { message: 'an operation refers to another one that is not part of the batch' },
    ],
    [
      'an undefined filter',
      () => api.$batch(({ task }) => [task.deleteMany({ size: undefined })]),
      { name: 'TypeError' },
    ],
    ['an empty id', () => api.$batch(({ task }) => [task.delete('')]), { status: 404 }],
    [
      'an error of the function',
      () =>
        api.$batch(() => {
          throw new Error('no')
        }),
      { message: 'no' },
    ],
  ]
  test.each(misuses)('mistakes are found before a request is sent: %s', async (_, work, error) => {
    await expect(work()).rejects.toMatchObject(error)
    expect(requests).toEqual([])
  })

  test('a reference to a later operation is refused by the service', async () => {
    const work = api.$batch(({ project, task }) => {
      const made = project.create({ name: 'p' })
      return [task.create({ title: 'a', project_id: made.ref('id') }), made]
    })
    expect(await refusalOf(work)).toMatchObject({ status: 400, problem: { index: 0 } })
  })

  test('a batch can be aborted', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(api.$batch(({ project }) => [project.create({ name: 'p' })], { signal })).rejects.toThrow('enough')
  })
})
