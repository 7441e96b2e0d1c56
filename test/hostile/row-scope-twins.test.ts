import { Agent } from 'node:http'
import fc from 'fast-check'
import { send, textWithoutDate } from '../client'
import { Company, Membership, Project, Rate, Tag, Task, trackerEntities } from '../tracker/entities'
import { seedTracker } from '../tracker/seed'
import { openWorld, type World } from '../world/world'
import { aggregateParameters, answeredParameters, formatParameters } from './aggregate-requests'
import { caseCount, timeFor } from './cases'

/**
 * Two databases that differ only in records out of scope give the same response to every request, byte for byte. The
 * requests are sent by a member of one company, a person without a company, and without credentials.
 */

const total = caseCount(600, 20_000)

let worlds: readonly World[]
const agent = new Agent({ keepAlive: true, maxSockets: 8 })
beforeAll(async () => {
  worlds = [await openTwin(0), await openTwin(1)]
})
afterAll(async () => {
  agent.destroy()
  for (const world of worlds) await world.close()
  expect(worlds.flatMap(({ faults }) => faults)).toEqual([])
})

/** Changes and adds records of the company Beta in one of the two databases. */
function openTwin(side: 0 | 1): Promise<World> {
  return openWorld({
    entities: trackerEntities,
    seed: async (dataSource) => {
      await seedTracker(dataSource)
      if (side === 0) return
      const save = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
        dataSource.getRepository<object>(entity).save([...rows])
      await save(Company, [
        { id: 2, name: 'Acme' },
        { id: 50, name: 'Gamma' },
      ])
      await save(Membership, [
        { id: 50, person: { id: 2 }, company: { id: 50 } },
        { id: 51, person: { id: 3 }, company: { id: 50 } },
      ])
      await save(Tag, [
        { id: 3, label: 'red' },
        { id: 50, label: 'common', company: { id: 50 } },
      ])
      await save(Project, [
        { id: 3, name: 'Atlas', company: { id: 50 }, tags: [{ id: 1 }, { id: 2 }, { id: 50 }] },
        { id: 50, name: 'Apollo', company: { id: 2 }, tags: [{ id: 2 }] },
      ])
      await save(Task, [
        { id: 3, title: 'Draw', project: { id: 50 }, assignee: { id: 1 } },
        { id: 4, title: 'Build', project: null, assignee: { id: 2 } },
        { id: 50, title: 'Test', project: { id: 3 }, assignee: { id: 4 } },
      ])
      await save(Rate, [
        { id: 1, hourly: 7, person: { id: 2 } },
        { id: 50, hourly: 100, person: { id: 1 } },
      ])
    },
  })
}

/** The fields and relations of each resource. */
const model: Readonly<Record<string, { fields: readonly string[]; relations: Readonly<Record<string, string>> }>> = {
  company: { fields: ['name'], relations: { projects: 'project' } },
  person: { fields: ['name'], relations: { tasks: 'task', rates: 'rate' } },
  project: { fields: ['name', 'company_id'], relations: { company: 'company', tasks: 'task', tags: 'tag' } },
  task: {
    fields: ['title', 'project_id', 'assignee_id'],
    relations: { project: 'project', assignee: 'person', comments: 'comment' },
  },
  tag: { fields: ['label', 'company_id'], relations: { company: 'company', projects: 'project' } },
  comment: { fields: ['text', 'task_id'], relations: { task: 'task' } },
  rate: { fields: ['hourly', 'person_id'], relations: { person: 'person' } },
}

/** Resources whose lists can be searched. */
const searched = ['project', 'task']

const texts = ['Acme', 'Beta', 'Atlas', 'Apollo', 'Saturn', 'Draw', 'Build', 'Hide', 'Test', 'red', 'black', 'common']
const patterns = ['A%', '%a%', '%l_', 'B%', '%']
const numbers = ['1', '2', '3', '4', '5', '7', '50', '100']

/** Path of relations and a field, from a resource: `project__company__name`. */
function pathFrom(resource: string, depth: number): fc.Arbitrary<string> {
  const { fields, relations } = model[resource] ?? { fields: [], relations: {} }
  const own = fc.constantFrom('id', ...fields)
  if (depth === 0) return own
  const related = Object.entries(relations).map(([name, target]) =>
    pathFrom(target, depth - 1).map((rest) => `${name}__${rest}`),
  )
  return fc.oneof({ weight: 1, arbitrary: own }, ...related.map((arbitrary) => ({ weight: 2, arbitrary })))
}

/** Path that follows relations to one record, with few exceptions. */
const toOnePath = (resource: string, depth: number): fc.Arbitrary<string> => {
  const { fields, relations } = model[resource] ?? { fields: [], relations: {} }
  const own = fc.constantFrom('id', ...fields)
  const toOne = Object.entries(relations).filter(([name]) => !name.endsWith('s'))
  if (depth === 0 || toOne.length === 0) return fc.oneof({ weight: 9, arbitrary: own }, pathFrom(resource, 1))
  const related = toOne.map(([name, target]) => toOnePath(target, depth - 1).map((rest) => `${name}__${rest}`))
  return fc.oneof(own, ...related)
}

const isNumber = (path: string): boolean => /(^|_)(id|hourly)$/.test(path)

/** A filter as name and value. */
function filterOn(resource: string): fc.Arbitrary<readonly [string, string]> {
  return pathFrom(resource, 3).chain((path) => {
    const value = fc.constantFrom(...(isNumber(path) ? numbers : texts))
    const compared = fc
      .tuple(fc.constantFrom('eq', 'ne', 'lt', 'gte'), value)
      .map(([operator, operand]) => [`${path}__${operator}`, operand] as const)
    const isNull = fc.constantFrom('null', 'not_null').map((operand) => [`${path}__is`, operand] as const)
    const like = fc.constantFrom(...patterns).map((operand) => [`${path}__like`, operand] as const)
    return fc.oneof(compared, isNull, isNumber(path) ? compared : like)
  })
}

/** Value of the parameter `include`: relations of a resource with their parameters. */
function includesOf(resource: string, depth: number): fc.Arbitrary<string> {
  const relations = Object.entries(model[resource]?.relations ?? {})
  return fc
    .subarray(relations, { minLength: 1, maxLength: Math.min(2, relations.length) })
    .chain((chosen) => fc.tuple(...chosen.map(([name, target]) => includeOf(name, target, depth))))
    .map((all) => all.join())
}

function includeOf(name: string, target: string, depth: number): fc.Arbitrary<string> {
  const nested = depth === 0 ? fc.constant([]) : includesOf(target, depth - 1).map((text) => [`include:(${text})`])
  const isToMany = name.endsWith('s')
  const filter = filterOn(target).map(([path, value]) => [`${path}:${encodeURIComponent(value)}`])
  const ordering = pathFrom(target, 1).map((path) => [`ordering:-${path}`])
  const forLists = isToMany ? [filter, ordering, fc.subarray(['limit:1', 'count:exact'])] : []
  const parts = [fc.subarray(['fields:id']), nested, ...forLists].map((part) => fc.oneof(part, fc.constant([])))
  return fc.tuple(...parts).map((all) => (all.flat().length === 0 ? name : `${name}(${all.flat().join()})`))
}

/** No parameter or `include`. */
const including = (resource: string): fc.Arbitrary<readonly string[]> =>
  fc.oneof(
    includesOf(resource, 1).map((text) => [`include=${text}`]),
    fc.constant([]),
  )

function listOf(resource: string): fc.Arbitrary<string> {
  const filters = fc
    .array(filterOn(resource), { maxLength: 2 })
    .map((pairs) => pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`))
  const groups = fc
    .tuple(fc.constantFrom('or', 'and', 'not'), fc.array(filterOn(resource), { minLength: 1, maxLength: 3 }))
    .map(([type, pairs]) => [
      `${type}=(${pairs.map(([name, value]) => `${name}:${encodeURIComponent(value)}`).join()})`,
    ])
  const ordering = pathFrom(resource, 2).map((path) => [`ordering=${path}`])
  const pages = fc.subarray(['count=exact', 'limit=2', 'after=', 'page=2'])
  const words = fc.array(fc.constantFrom(...texts, 'a', 'l'), { minLength: 1, maxLength: 2 })
  const search = searched.includes(resource) ? words.map((all) => [`search=${all.join('+')}`]) : fc.constant([])
  const conditions = [fc.oneof(search, fc.constant([])), filters, fc.oneof(groups, fc.constant([]))] as const
  const sorted = fc.oneof(ordering, fc.constant([]))
  const parts = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(...conditions, sorted, including(resource), pages) },
    { weight: 2, arbitrary: fc.tuple(...conditions, aggregateParameters(toOnePath(resource, 3))) },
    { weight: 1, arbitrary: fc.tuple(...conditions, sorted, formatParameters) },
  )
  return parts.map((all) => `GET /api/${resource}/?${all.flat().join('&')}`)
}

interface Request {
  readonly line: string
  readonly person: number | undefined
  readonly body?: object
}

const ids = fc.constantFrom(1, 2, 3, 4, 5, 50, 51, 100, 101, 102)
/** The resources that the tests write. Writes of others would fail if hidden records refer to them. */
const bodies: Readonly<Record<string, fc.Arbitrary<object>>> = {
  project: fc.record({ name: fc.constantFrom(...texts), company_id: ids }, { requiredKeys: [] }),
  task: fc.record(
    { title: fc.constantFrom(...texts), project_id: fc.option(ids), assignee_id: fc.constantFrom(1, 2, 3, null) },
    { requiredKeys: [] },
  ),
  tag: fc.record({ label: fc.constantFrom(...texts), company_id: fc.option(ids) }, { requiredKeys: [] }),
  comment: fc.record({ text: fc.constantFrom(...texts), task_id: fc.option(ids) }, { requiredKeys: [] }),
}

const people = fc.constantFrom(1, 1, 1, 4, undefined)
const reads = fc
  .constantFrom(...Object.keys(model))
  .chain((resource) =>
    fc.oneof(
      { weight: 5, arbitrary: listOf(resource) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom('GET', 'HEAD'), ids, including(resource))
          .map(([method, id, query]) => `${method} /api/${resource}/${id}/?${query.join()}`),
      },
    ),
  )
  .chain((line) => people.map((person): Request => ({ line, person })))
const writes = fc.constantFrom(...Object.keys(bodies)).chain((resource) => {
  const body = bodies[resource] ?? fc.constant({})
  const post = fc
    .tuple(fc.integer({ min: 100, max: 130 }), body)
    .map(([id, values]) => ({ line: `POST /api/${resource}/`, body: { id, ...values } }))
  const put = fc
    .tuple(fc.constantFrom('PUT', 'PATCH'), ids, body, including(resource))
    .map(([method, id, values, query]) => ({ line: `${method} /api/${resource}/${id}/?${query.join()}`, body: values }))
  const remove = ids.map((id) => ({ line: `DELETE /api/${resource}/${id}/` }))
  return fc
    .oneof({ weight: 4, arbitrary: post }, { weight: 4, arbitrary: put }, { weight: 1, arbitrary: remove })
    .chain((write) => people.map((person): Request => ({ ...write, person })))
})
const requests = fc.oneof({ weight: 4, arbitrary: reads }, { weight: 1, arbitrary: writes })

const statuses = new Set<number>()
/** Parameters of requests that returned records or groups. */
const answered = new Set<string>()

async function check({ line, person, body }: Request): Promise<void> {
  const headers = person === undefined ? {} : { 'x-person': String(person) }
  const [one, other] = await Promise.all(worlds.map(({ url }) => send(url, line, { headers, body, agent })))
  if (one === undefined || other === undefined) throw new Error('two databases are needed')
  for (const world of worlds) world.statements()
  statuses.add(one.status)
  for (const name of answeredParameters(line, one)) answered.add(name)
  expect(textWithoutDate(other)).toBe(textWithoutDate(one))
}

test(
  'Row scopes: two databases that differ in records out of scope give the same responses',
  async () => {
    const property = fc.asyncProperty(requests, check)
    await fc.assert(property, { seed: 37, numRuns: total, includeErrorInReport: true })
  },
  timeFor(total),
)

test('the generated requests reach every kind of response', () => {
  const missing = [200, 201, 204, 400, 401, 403, 404, 409].filter((status) => !statuses.has(status))
  const unanswered = ['aggregate', 'by', 'format', 'search', 'include'].filter((name) => !answered.has(name))
  expect({ missing: total < 600 ? [] : [...missing, ...unanswered] }).toEqual({ missing: [] })
})
