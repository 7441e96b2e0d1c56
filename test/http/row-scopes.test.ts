import { setTimeout } from 'node:timers/promises'
import { send } from '../client'
import { caseCount, timeFor } from '../hostile/cases'
import { Comment, Membership, Person, Task, trackerEntities } from '../tracker/entities'
import { seedTracker } from '../tracker/seed'
import { isSqlite, sqlOf } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Row scopes: records out of scope do not exist for a principal, on every path that leads to them. */

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: trackerEntities, seed: seedTracker })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

/** @param person id of the person who sends the request; undefined for an anonymous request */
function as(person: number | undefined, line: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
  const withPerson = person === undefined ? headers : { ...headers, 'x-person': String(person) }
  return send(world.url, line.replace(' ', ' /api/'), { headers: withPerson, body })
}

interface List {
  readonly objects: readonly { readonly id: number }[]
  readonly meta: { readonly total?: number; readonly next: string }
}

async function idsOf(person: number | undefined, path: string): Promise<readonly number[]> {
  const reply = await as(person, `GET ${path}`)
  if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${reply.text}`)
  return (reply.json() as List).objects.map(({ id }) => id)
}

const visible: readonly (readonly [resource: string, person: number | undefined, ids: readonly number[]])[] = [
  ['company', 1, [1]],
  ['company', 2, [2]],
  ['company', 3, [1, 2]],
  ['company', 4, []],
  ['company', undefined, []],
  ['project', 1, [1, 2, 4]],
  ['project', 2, [3]],
  ['project', 3, [1, 2, 3, 4]],
  ['project', 4, []],
  ['project', undefined, []],
  ['task', 1, [1, 2, 5]],
  ['task', 2, [3]],
  ['task', 3, [1, 2, 3, 5]],
  ['task', 4, []],
  ['tag', 1, [1, 2, 5]],
  ['tag', 2, [1, 3, 5]],
  ['tag', 3, [1, 2, 3, 5]],
  ['tag', 4, [1, 5]],
  ['tag', undefined, [1, 5]],
  ['comment', 4, [1, 2, 3]],
]

test.each(visible)('Row scopes: a list of %s for person %s has the records %j', async (resource, person, ids) => {
  expect(await idsOf(person, `${resource}/`)).toEqual(ids)
  const counts = ['count=exact&limit=0', 'count=capped&limit=1'].map(async (count) => {
    const { meta } = (await as(person, `GET ${resource}/?${count}`)).json() as List
    return meta.total
  })
  expect(await Promise.all(counts)).toEqual([ids.length, ids.length])
})

test.each(visible)('Row scopes: items of %s for person %s exist only for %j', async (resource, person, ids) => {
  for (const id of [1, 2, 3, 4, 5]) {
    const [own] = (await world.sql(`SELECT COUNT(*) AS "n" FROM "${resource}" WHERE "id" = ${id}`)) as { n: unknown }[]
    const status = Number(own?.n) > 0 && ids.includes(id) ? 200 : 404
    expect([id, (await as(person, `GET ${resource}/${id}/`)).status]).toEqual([id, status])
    expect([id, (await as(person, `HEAD ${resource}/${id}/`)).status]).toEqual([id, status])
  }
})

test.each([
  // To-one relations: a record out of scope is treated like a missing one.
  ['comment/?task__title=Hide', 1, []],
  ['comment/?task__title=Hide', 2, [2]],
  ['comment/?task__title__is=null', 1, [2, 3]],
  ['comment/?task__title__is=null', 2, [1, 3]],
  ['comment/?not=(task__title:Draw)', 1, [2, 3]],
  ['comment/?or=(task__title:Draw,task__title:Hide)', 1, [1]],
  ['comment/?task__project__name__like=S%25', 1, []],
  ['comment/?task__project__name__like=S%25', 3, [2]],
  ['comment/?task__project__company__name=Beta', 1, []],
  ['task/?project__company__projects__name__like=S%25', 1, []],
  ['project/?id=1&company__projects__name__like=S%25', 1, []],
  ['project/?company__projects__name__like=C%25', 1, [1, 2, 4]],
  // To-many relations.
  ['person/?tasks__title=Hide', 1, []],
  ['person/?tasks__title=Hide', 3, [2]],
  ['person/?tasks__title=Test', 1, [2]],
  ['person/?tasks__id__is=null', 1, [4]],
  ['person/?tasks__id__is=null', 2, [1, 3, 4]],
  ['person/?tasks__project__name=Saturn', 1, []],
  ['person/?tasks__comments__text__like=on%25', 1, [1]],
  ['project/?tags__label=black', 1, []],
  ['project/?tags__label=black', 3, [1, 3, 4]],
  ['project/?tags__label__is=null', 1, [2, 4]],
  ['project/?tags__label__is=null', 3, [2]],
  ['project/?not=(tags__label:black)', 1, [1, 2, 4]],
  ['tag/?projects__name=Saturn', 1, []],
  ['tag/?projects__name=Saturn', 2, [1, 3]],
  ['tag/?projects__name__is=null', 2, [5]],
  ['tag/?company__name=Beta', 1, []],
  ['tag/?company__name=Beta', 2, [3, 5]],
  // A relation to one record after one to many.
  ['project/?tags__company__name=Beta', 1, []],
  ['project/?tags__company__name=Beta', 3, [1, 3, 4]],
  ['project/?tags__company__name__is=null', 1, [1, 2, 4]],
  ['project/?tags__company__name__is=null', 3, [1, 2, 3]],
  ['tag/?projects__company__memberships__id=1', 1, undefined],
  // The value of a foreign key is shown, also if the record is out of scope.
  ['comment/?task=3', 1, [2]],
  ['comment/?task__is=null', 1, [3]],
  // Access rule of a related resource with a scope.
  ['person/?rates__hourly__gte=1', 1, []],
  ['person/?rates__hourly__gte=1', 2, [1]],
  ['person/?rates__hourly__is=null', 1, [1, 2, 3, 4]],
] as const)('Row scopes: %s for person %s finds %j', async (path, person, ids) => {
  if (ids === undefined) expect((await as(person, `GET ${path}`)).status).toBe(400)
  else expect(await idsOf(person, path)).toEqual(ids)
})

test.each([
  ['comment/?ordering=task__title,id', 1, [2, 3, 1]],
  ['comment/?ordering=-task__title__nullslast,id', 2, [2, 1, 3]],
  ['comment/?ordering=task__title__nullslast,-id', 3, [1, 2, 3]],
] as const)('Row scopes: in %s, person %s sorts by visible records only', async (path, person, ids) => {
  expect(await idsOf(person, path)).toEqual(ids)
  const byCursor: number[] = []
  for (let next = `${path}&after=&limit=1`; next !== ''; ) {
    const { objects, meta } = (await as(person, `GET ${next}`)).json() as List
    byCursor.push(...objects.map(({ id }) => id))
    next = meta.next.replace('/api/', '')
  }
  expect(byCursor).toEqual(ids)
})

test('Row scopes: a token of another person leads to visible records only', async () => {
  const { meta } = (await as(2, 'GET task/?after=&limit=1&count=exact')).json() as List
  expect(meta.next).toBe('')
  const page = (await as(3, 'GET task/?after=&limit=1')).json() as List
  const next = page.meta.next.replace('/api/', '').replace('limit=1', 'limit=10')
  expect(await idsOf(3, next)).toEqual([2, 3, 5])
  expect(await idsOf(1, next)).toEqual([2, 5])
  expect(await idsOf(2, next)).toEqual([3])
})

test('Row scopes: the ETag of a record out of scope is not confirmed', async () => {
  const { headers } = await as(2, 'GET task/3/')
  const tag = String(headers.etag)
  expect((await as(2, 'GET task/3/', undefined, { 'If-None-Match': tag })).status).toBe(304)
  const refused = await as(1, 'GET task/3/', undefined, { 'If-None-Match': tag })
  const missing = await as(1, 'GET task/99/', undefined, { 'If-None-Match': tag })
  expect([refused.status, refused.text]).toEqual([404, missing.text])
})

const rowsOf = (table: string) => world.sql(`SELECT * FROM "${table}" ORDER BY "id"`)

test.each([
  // Records out of scope cannot be written.
  [1, 'PUT task/3/', { title: 'Mine' }, 404],
  [1, 'PATCH task/3/', { title: 'Mine' }, 404],
  [1, 'PUT task/3/', {}, 404],
  [1, 'DELETE task/3/', undefined, 404],
  [1, 'PUT project/3/', { name: 'Mine' }, 404],
  [4, 'DELETE project/2/', undefined, 404],
  [undefined, 'DELETE tag/2/', undefined, 404],
  // References to records out of scope are refused like references to missing ones.
  [1, 'POST comment/', { id: 9, text: 'x', task_id: 3 }, 400],
  [1, 'PUT comment/1/', { task_id: 3 }, 400],
  [1, 'POST task/', { id: 9, title: 'x', project_id: 3 }, 400],
  [1, 'PUT task/1/', { project_id: 3 }, 400],
  [1, 'POST project/', { id: 9, name: 'x', company_id: 2 }, 400],
  [4, 'POST project/', { id: 9, name: 'x', company_id: 1 }, 400],
  // A record must not leave the scope.
  [1, 'POST task/', { id: 9, title: 'x' }, 403],
  [1, 'PUT task/1/', { project_id: null }, 403],
  [1, 'POST tag/', { id: 9, label: 'x' }, 403],
  [1, 'PUT tag/2/', { company_id: null }, 403],
  [4, 'POST company/', { id: 9, name: 'x' }, 403],
  [undefined, 'POST tag/', { id: 9, label: 'x' }, 401],
] as const)(
  'Row scopes: person %s is refused %s %j with %d, and nothing is written',
  async (person, line, body, status) => {
    const tables = ['company', 'project', 'task', 'tag', 'comment']
    const before = await Promise.all(tables.map(rowsOf))
    expect((await as(person, line, body)).status).toBe(status)
    expect(await Promise.all(tables.map(rowsOf))).toEqual(before)
  },
)

test('Row scopes: a reference to a record out of scope gets the same response as one to a missing record', async () => {
  const missing = await as(1, 'POST comment/', { id: 9, text: 'x', task_id: 99 })
  expect((await as(1, 'POST comment/', { id: 9, text: 'x', task_id: 3 })).text).toBe(missing.text)
  const form = `data=${encodeURIComponent('{"id": 9, "text": "x", "task_id": 3}')}`
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  expect((await as(1, 'POST comment/', form, headers)).text).toBe(missing.text)
})

test('Row scopes: a visible record can be written', async () => {
  expect((await as(1, 'POST task/', { id: 10, title: 'New', project_id: 1 })).status).toBe(201)
  expect((await as(1, 'PUT task/10/', { title: 'Newer', project_id: 2, assignee_id: 4 })).status).toBe(200)
  expect((await as(2, 'PUT task/10/', { title: 'Stolen' })).status).toBe(404)
  expect((await as(1, 'POST comment/', { id: 10, text: 'on the new task', task_id: 10 })).status).toBe(201)
  expect((await as(3, 'DELETE task/10/')).status).toBe(204)
  expect(await rowsOf('comment')).toHaveLength(3)
})

test('Row scopes: a list needs one statement', async () => {
  world.statements()
  await idsOf(1, 'task/?assignee__name=Person%201&comments__text__like=on%25')
  expect(world.statements()).toHaveLength(1)
})

test('mounted.resources reports the row scopes', () => {
  expect(
    world.mounted.resources.flatMap(({ name, scope }) => (scope === undefined ? [] : `${name}: ${scope}`)).toSorted(),
  ).toEqual(['company: filter', 'project: filter', 'rate: filter', 'tag: filter', 'task: through project'])
})

test('Row scopes: pages after record 1,000 have visible records only', async () => {
  const comments = world.dataSource.getRepository<object>(Comment)
  const rows = Array.from({ length: 1050 }, (_, index) => ({ id: 1000 + index, text: 'many', task: { id: 3 } }))
  await comments.save(rows, { chunk: 300 })
  const lastPage = 'comment/?id__gte=1000&task__title__is=null&limit=50&page=21'
  expect(await idsOf(1, lastPage)).toHaveLength(50)
  expect(await idsOf(2, lastPage)).toHaveLength(0)
  expect(await idsOf(2, 'comment/?id__gte=1000&task__title=Hide&limit=50&page=21')).toHaveLength(50)
  expect(await idsOf(1, 'comment/?id__gte=1000&task__title=Hide&limit=50&page=21')).toHaveLength(0)
  await comments.delete(rows.map(({ id }) => id))
})

/**
 * Writes that run at the same time as a statement that moves their record out of scope. What is stored after this
 * statement must not change any more.
 */
const rounds = caseCount(40, 1000)
const moved = `UPDATE "project" SET "companyId" = 2 WHERE "id" = 20`
test.each([
  ['PUT', moved],
  ['DELETE', moved],
])(
  'Row scopes: no %s is stored after the statement %s',
  async (method, revoke) => {
    const statuses = new Set<number>()
    for (let round = 0; round < rounds; round++) {
      await world.sql(`DELETE FROM "project" WHERE "id" = 20`)
      await world.sql(`INSERT INTO "project" ("id", "name", "companyId") VALUES (20, 'Old', 1)`)
      const body = method === 'PUT' ? { name: 'New' } : undefined
      const writing = as(1, `${method} project/20/`, body)
      await setTimeout((round % 20) / 4)
      await world.sql(revoke)
      const [atRevocation] = await world.sql(`SELECT "name" FROM "project" WHERE "id" = 20`)
      statuses.add((await writing).status)
      const [afterwards] = await world.sql(`SELECT "name" FROM "project" WHERE "id" = 20`)
      expect([round, afterwards]).toEqual([round, atRevocation])
    }
    await world.sql(`DELETE FROM "project" WHERE "id" = 20`)
    expect([...statuses].filter((status) => ![200, 204, 403, 404].includes(status))).toEqual([])
  },
  timeFor(rounds * 10),
)

test.each([
  [1, [1, 2, 5]],
  [2, [3]],
  [3, [1, 2, 3, 5]],
  [null, []],
])('mounted.visible selects the records that person %j may see: %j', async (id, expected) => {
  const { visible } = world.mounted
  const found = await visible(Task, { id }).orderBy('task.id').getMany()
  expect(found.map((task) => [task.constructor, task.id])).toEqual(expected.map((one) => [Task, one]))
  // Conditions of the application cannot widen the scope.
  const query = visible(Task, { id }, 't').where('t.id < :max', { max: 4 }).orWhere('t.id >= 4')
  expect(await query.getCount()).toBe(expected.length)
  const joined = visible(Task, { id }, 't').leftJoinAndSelect('t.comments', 'c').orderBy('t.id').take(2)
  expect((await joined.getMany()).map((task) => task.id)).toEqual(expected.slice(0, 2))
  expect(await visible(Person, { id }).getCount()).toBe(4)
})

test('mounted.visible can be used in a subquery of another visible query', async () => {
  const { visible } = world.mounted
  // Person 1 sees projects 1, 2 and 4; the subquery selects what person 2 sees.
  const ofOther = visible(Task, { id: 2 }).select('task.id')
  const comments = visible(Task, { id: 1 }, 't').where(`t.id NOT IN (${ofOther.getQuery()})`)
  const found = await comments.setParameters(ofOther.getParameters()).orderBy('t.id').getMany()
  expect(found.map(({ id }) => id)).toEqual([1, 2, 5])
})

test('mounted.visible refuses an entity that is not a resource', () => {
  expect(() => world.mounted.visible(Membership, { id: 1 })).toThrow(
    new TypeError('Membership is not a resource of this mount'),
  )
})

test.each([
  ['PUT', { name: 'Mine' }],
  ['DELETE', undefined],
])(
  'Row scopes: a %s that waits for the lock of a record is 404 if the record leaves the scope',
  async (method, body) => {
    await world.sql(`INSERT INTO "project" ("id", "name", "companyId") VALUES (30, 'Held', 1)`)
    const leave = sqlOf(`UPDATE "project" SET "companyId" = 2 WHERE "id" = 30`)
    let reply: ReturnType<typeof as>
    if (isSqlite) {
      // There is one connection, so that a write never waits for a lock.
      await world.sql(leave)
      reply = as(1, `${method} project/30/`, body)
    } else {
      const other = world.dataSource.createQueryRunner()
      await other.startTransaction()
      await other.query(leave)
      reply = as(1, `${method} project/30/`, body)
      await setTimeout(300)
      await other.commitTransaction()
      await other.release()
    }
    expect((await reply).status).toBe(404)
    expect(await world.sql(`SELECT "name" FROM "project" WHERE "id" = 30`)).toEqual([{ name: 'Held' }])
    await world.sql(`DELETE FROM "project" WHERE "id" = 30`)
  },
)
