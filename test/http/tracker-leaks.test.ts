import Koa from 'koa'
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { mountResources, Resource, userRule } from 'typeorm-resources'
import { trackerOptions } from '../../sample/tracker/options'
import { Task } from '../../sample/tracker/projects'
import { trackerEntities } from '../../sample/tracker/seed'
import type { SendOptions } from '../client'
import { openTracker, type Tracker, type Who } from '../support/tracker'
import { createDataSource, dropDatabase } from '../world/leg'

/** The tracker of the sample: requests that often reveal or change records of others. */

let tracker: Tracker
beforeAll(async () => {
  tracker = await openTracker({
    // What some applications use instead of a row scope: users of company 1 should see the projects of company 1.
    before: (app) =>
      app.use((context, next) => {
        if (context.get('x-middleware') !== '') context.querystring += '&company_id=1'
        return next()
      }),
  })
})
afterAll(async () => {
  await tracker.close()
  expect(tracker.world.faults).toEqual([])
})

type Found = readonly [path: string, who: Who, ids: readonly number[]]

test.each<Found>([
  // A relation to records that are not visible finds nothing, one by one and in groups.
  ['project/?id=1&company__projects__name__like=S%25', 'ann', []],
  ['project/?id=1&company__projects__name__like=S%25', 'cleo', []],
  ['project/?id=3&company__projects__name__like=S%25', 'cleo', [3]],
  ['project/?id=1&or=(company__projects__name__like:S%25,name:Saturn)', 'ann', []],
  ['project/?id=1&not=(company__projects__name__like:S%25)', 'ann', [1]],
  ['tag/?id=1&tasks__title=Hide', 'ann', []],
  ['tag/?id=1&tasks__project__name__like=S%25', 'dan', []],
  ['task/?tags__label=black', 'ann', []],
  ['task/?tags__label=black', 'cleo', [2, 3]],
  ['task/?id=2&tags__tasks__title=Hide', 'ann', []],
  ['task/?id=2&tags__company__name=Beta', 'ann', []],
  ['person/?id=3&memberships__company__name=Beta', 'ann', []],
  ['person/?id=3&memberships__company__name=Beta', 'cleo', [3]],
  ['person/?id=3&memberships__role=manager', 'ann', []],
  ['person/?id=3&memberships__company__projects__tasks__title=Hide', 'bob', []],
  // Rates: of the companies in which the person is a manager.
  ['person/?rates__hourly__gte=1', 'ann', [1, 2]],
  ['person/?rates__hourly__gte=1', 'bob', []],
  ['person/?rates__hourly__gte=100', 'bob', []],
  ['person/?rates__hourly__gte=1', 'cleo', [3]],
  ['person/?not=(rates__hourly__gte:100)', 'bob', [1, 2, 3, 4]],
  ['comment/?author__rates__hourly__gte=1', 'bob', []],
  ['comment/?author__rates__hourly__gte=1', 'ann', [1]],
  // Guests see neither invoices nor entries.
  ['project/?id=1&invoices__status=sent', 'dan', []],
  ['project/?id=1&invoices__lines__price__gte=1', 'dan', []],
  ['project/?id=1&invoices__number__like=A%25', 'bob', [1]],
  ['task/?id=1&entries__minutes__gte=1', 'dan', []],
  ['task/?id=1&entries__minutes__gte=1', 'bob', [1]],
  ['project/?id=1&company__name=Acme', 'dan', []],
  ['project/?id=1&company__name__is=null', 'dan', [1]],
  ['project/?id=1&guests__person__memberships__company__name=Gamma', 'ann', []],
  // Deleted tasks.
  ['project/?tasks__title=Forget', 'ann', []],
  ['project/?tasks__comments__text__like=Never%25', 'ann', []],
  ['project/?tasks__entries__minutes=30', 'bob', []],
])('%s finds for %s the records %j', async (path, who, ids) => {
  expect(await tracker.idsOf(who, path)).toEqual(ids)
})

test.each<Found>([
  ['project/?ordering=company__name,-id', 'cleo', [2, 1, 3]],
  // The company of project 1 is not visible to dan, so it sorts like a missing one.
  ['project/?ordering=company__name,id', 'dan', [1, 4]],
  ['project/?ordering=-company__name,id', 'dan', [4, 1]],
  ['person/?id__in=1,2,3,4&ordering=-id', 'bob', [4, 3, 2, 1]],
])('%s sorts for %s by visible records only', async (path, who, ids) => {
  expect(await tracker.idsOf(who, path)).toEqual(ids)
})

test.each<readonly [path: string, who: Who]>([
  ['project/?budget__gte=1', 'bob'],
  ['project/?budget__gte=1', 'cleo'],
  ['project/?ordering=-budget', 'dan'],
  ['project/?or=(id:1,budget__gte:1)', 'bob'],
  ['task/?project__budget__gte=1', 'cleo'],
  ['task/?ordering=project__budget', 'bob'],
  ['invoice/?project__company__projects__budget__gte=1', 'bob'],
  ['person/?managesAll=1', 'ann'],
  ['person/?password__like=%25', 'ann'],
  ['comment/?author__managesAll=1', 'ann'],
])('%s by %s is refused like a filter by a field that does not exist', async (path, who) => {
  const { as } = tracker
  const [, field = ''] = /(budget|managesAll|password)/.exec(path) ?? []
  const [refused, unknown] = await Promise.all(
    [path, path.replace(field, 'nothing')].map((each) => as(who, `GET ${each}`)),
  )
  expect(refused?.status).toBe(400)
  expect(refused?.text.replaceAll(field, 'nothing')).toBe(unknown?.text)
})

test('records and documents have the budget for managers of all their projects only', async () => {
  const { as } = tracker
  const seesBudget = async (who: Who) => {
    const [item, list, document] = await Promise.all(
      ['GET project/1/', 'GET project/', 'GET openapi.json'].map((line) => as(who, line)),
    )
    return [item, list, document].map((reply) => reply?.text.includes('budget'))
  }
  expect(await seesBudget('ann')).toEqual([true, true, true])
  expect(await seesBudget('bob')).toEqual([false, false, false])
  expect(await seesBudget('cleo')).toEqual([false, false, false])
  expect(await seesBudget('dan')).toEqual([false, false, false])
  expect(await seesBudget(undefined)).toEqual([false, false, false])
  const replies = await Promise.all((['bob', 'dan'] as const).map((who) => as(who, 'GET project/1/')))
  expect(new Set(replies.map(({ headers }) => headers.etag)).size).toBe(1)
})

test('no document contains values of records', async () => {
  for (const who of ['ann', 'cleo', undefined] as const) {
    const { text } = await tracker.as(who, 'GET openapi.json')
    expect(text).not.toMatch(/Saturn|Gemini|Tell nobody|managesAll/)
  }
})

test('a cursor that another person has received leads to visible records only', async () => {
  const { as, idsOf } = tracker
  const first = (await as('cleo', 'GET task/?ordering=-title&after=&limit=1')).json() as { meta: { next: string } }
  const next = first.meta.next.replace('/api/', '').replace('limit=1', 'limit=10')
  expect(await idsOf('cleo', next)).toEqual([1, 2])
  expect(await idsOf('ann', next)).toEqual([1, 2])
  expect(await idsOf('dan', next)).toEqual([1])
  expect(await idsOf('eve', next)).toEqual([])
  // A cursor contains the values of its record: it must not make hidden records visible.
  expect((await as('fay', `GET ${next}`)).status).toBe(200)
})

type Attempt = readonly [leak: string, who: Who, line: string, body: unknown, status: number]

const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const multipart = { 'Content-Type': 'multipart/form-data; boundary=form' }
const secret = '{"title": "Mine", "project_id": 3}'
const parts = `--form\r\nContent-Disposition: form-data; name="data"\r\n\r\n${secret}\r\n--form--\r\n`

/** The leaks (b) and (g) of docs/explanations/tracker.md, and other writes that must be refused. */
const attempts: readonly (Attempt | readonly [...Attempt, headers: SendOptions['headers']])[] = [
  ['(b) JSON', 'ann', 'POST task/', JSON.parse(secret), 400],
  ['(b) curl -d', 'ann', 'POST task/', secret, 400, form],
  ['(b) a form field', 'ann', 'POST task/', `data=${encodeURIComponent(secret)}`, 400, form],
  ['(b) a multipart form', 'ann', 'POST task/', parts, 400, multipart],
  ['(b) PUT', 'ann', 'PUT task/1/', secret, 400, form],
  ['(g) a sent invoice', 'ann', 'PUT invoice/1/', { number: 'A-7' }, 403],
  ['(g) back to a draft', 'ann', 'PUT invoice/1/', { status: 'draft' }, 403],
  ['(g) paid by a client', 'ann', 'PUT invoice/2/', { status: 'paid' }, 403],
  ['(g) a line', 'ann', 'PUT line/1/', { price: '1.00' }, 403],
  ['(g) a line', 'ann', 'PATCH line/1/', { price: '1.00' }, 403],
  ['(g) a line', 'ann', 'DELETE line/1/', undefined, 403],
  ['(g) a new line', 'ann', 'POST line/', { text: 'x', price: '1.00', invoice_id: 1 }, 403],
  ['(g) a line that is moved there', 'ann', 'PUT line/2/', { invoice_id: 1 }, 403],
  ['(g) a line that is moved away', 'ann', 'PUT line/1/', { invoice_id: 2 }, 403],
  ['(g) the project with its invoices', 'ann', 'DELETE project/1/', undefined, 409],
  ['(g) the sent invoice with its lines', 'ann', 'DELETE invoice/1/', undefined, 403],
  // Cleo is a manager of Beta and a member of Acme.
  ['a project that changes the company', 'cleo', 'PUT project/3/', { company_id: 1 }, 403],
  ['a project that changes the company', 'ann', 'PUT project/1/', { company_id: 2 }, 400],
  ['an invoice in a project of members', 'cleo', 'PUT invoice/3/', { project_id: 1 }, 403],
  ['a line in an invoice of members', 'cleo', 'PUT line/3/', { invoice_id: 2 }, 403],
  ['a rate in a company of members', 'cleo', 'PUT rate/3/', { company_id: 1 }, 403],
  ['a tag that becomes shared', 'bob', 'PUT tag/2/', { company_id: null }, 403],
  ['the own role', 'bob', 'PUT membership/2/', { role: 'manager' }, 403],
  ['the own role', 'ann', 'PUT membership/1/', { role: 'member' }, 403],
  ['a role in a company of others', 'ann', 'PUT membership/2/', { company_id: 2 }, 400],
  ['a membership of oneself', 'fay', 'PUT membership/5/', { person_id: 6 }, 403],
  ['a password of others', 'ann', 'PUT person/2/', { password: 'ann' }, 403],
  ['a password of others', 'ann', 'PUT person/5/', { password: 'ann' }, 404],
  ['the hidden role of a person', 'bob', 'PUT person/2/', { managesAll: 1 }, 400],
  ['a budget by a member of several companies', 'cleo', 'PUT project/3/', { budget: 1 }, 400],
  ['a comment for others', 'dan', 'POST comment/', { text: 'x', task_id: 1, author_id: 1 }, 400],
  ['a comment for others', 'dan', 'PUT comment/2/', { author_id: 1 }, 400],
  ['a comment that is moved', 'dan', 'PUT comment/2/', { task_id: 2 }, 400],
  ['a comment on a deleted task', 'bob', 'POST comment/', { text: 'x', task_id: 5 }, 400],
  ['an entry for others', 'bob', 'POST entry/', { minutes: 1, day: '2026-03-04', task_id: 1, person_id: 1 }, 400],
  ['an entry on a deleted task', 'bob', 'PUT entry/4/', { minutes: 1 }, 404],
  ['an entry by a guest', 'dan', 'PUT entry/5/', { task_id: 1 }, 403],
  ['a task by a guest', 'dan', 'PUT task/4/', { project_id: 1 }, 403],
  ['a foreign assignee', 'ann', 'PUT task/1/', { assignee_id: 5 }, 400],
]

test.each(attempts)('%s: %s %s %j is %d, and nothing is written', async (_, who, line, body, status, headers = {}) => {
  const { as, rows } = tracker
  const before = await rows()
  const reply = await as(who, line, { body, headers })
  expect([reply.status, reply.text]).toEqual([status, expect.any(String)])
  expect(await rows()).toEqual(before)
})

test('(a) a client that sends the parameter of a middleware again gets visible records only', async () => {
  const headers = { 'x-middleware': 'yes' }
  const idsOf = async (who: Who, path: string) => {
    const { objects } = (await tracker.as(who, `GET ${path}`, { headers })).json() as { objects: { id: number }[] }
    return objects.map(({ id }) => id)
  }
  expect(await idsOf('ann', 'project/?')).toEqual([1, 2])
  expect(await idsOf('ann', 'project/?company_id=2')).toEqual([1, 2])
  // A person who is a member of both: the middleware would have to know it.
  expect(await idsOf('cleo', 'project/?company_id=2')).toEqual([1, 2, 3])
})

test('(b) a reference to a hidden record and one to a missing record get the same response', async () => {
  const { as } = tracker
  const types: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    [secret, form],
    [`data=${encodeURIComponent(secret)}`, form],
    [parts, multipart],
  ]
  for (const [body, headers] of types) {
    const [hidden, missing] = [body, body.replace('3}', '99}').replace('3%7D', '99%7D')].map((text) =>
      as('ann', 'POST task/', { body: text, headers }),
    )
    expect((await hidden)?.text).toBe((await missing)?.text)
  }
})

test('(f) what belongs to a deleted task is hidden with it', async () => {
  const { as, world } = tracker
  const created = await as('bob', 'POST task/', { body: { title: 'Short', project_id: 1 } })
  const { id } = created.json() as { readonly id: number }
  const comment = await as('dan', 'POST comment/', { body: { text: 'Seen', task_id: id } })
  const entry = await as('bob', 'POST entry/', { body: { minutes: 7, day: '2026-03-04', task_id: id } })
  const items = [`task/${id}/`, String(comment.headers.location).slice(5), String(entry.headers.location).slice(5)]
  const statuses = (who: Who, method: string, body?: unknown) =>
    Promise.all(items.map(async (item) => (await as(who, `${method} ${item}`, { body })).status))
  expect(await statuses('bob', 'GET')).toEqual([200, 200, 200])
  expect((await as('bob', `DELETE task/${id}/`)).status).toBe(204)
  for (const who of ['ann', 'bob', 'dan'] as const) {
    expect(await statuses(who, 'GET')).toEqual([404, 404, 404])
    expect(await statuses(who, 'HEAD')).toEqual([404, 404, 404])
    expect(await statuses(who, 'PUT', {})).toEqual([404, 404, 404])
    expect(await statuses(who, 'DELETE')).toEqual([404, 404, 404])
  }
  expect(await tracker.idsOf('dan', 'comment/?text=Seen')).toEqual([])
  await world.sql(`DELETE FROM "comment" WHERE "taskId" = ${id}`)
  await world.sql(`DELETE FROM "entry" WHERE "taskId" = ${id}`)
  await world.sql(`DELETE FROM "task" WHERE "id" = ${id}`)
})

test('authors and moderators delete comments, and people change their own entries', async () => {
  const { as } = tracker
  for (const who of ['dan', 'ann'] as const) {
    const created = await as('dan', 'POST comment/', { body: { text: 'Rude', task_id: 1 } })
    expect(created.json()).toMatchObject({ author_id: 4 })
    const item = String(created.headers.location).slice(5)
    expect((await as('bob', `DELETE ${item}`)).status).toBe(403)
    expect((await as('ann', `PUT ${item}`, { body: { text: 'Polite' } })).status).toBe(403)
    expect((await as(who, `DELETE ${item}`)).status).toBe(204)
  }
  const entry = await as('bob', 'POST entry/', { body: { minutes: 7, day: '2026-03-04', task_id: 1 } })
  const item = String(entry.headers.location).slice(5)
  expect(entry.json()).toMatchObject({ person_id: 2 })
  expect((await as('ann', `DELETE ${item}`)).status).toBe(403)
  expect((await as('bob', `PUT ${item}`, { body: { minutes: 8 } })).json()).toMatchObject({ minutes: 8 })
  expect((await as('bob', `DELETE ${item}`)).status).toBe(204)
})

test('a manager sends a draft, which is frozen from then on', async () => {
  const { as, world } = tracker
  const invoice = await as('ann', 'POST invoice/', { body: { number: 'A-8', project_id: 1 } })
  const { id } = invoice.json() as { readonly id: number }
  const line = await as('ann', 'POST line/', { body: { text: 'x', price: '1.00', invoice_id: id } })
  const item = String(line.headers.location).slice(5)
  expect((await as('ann', `PUT ${item}`, { body: { price: '2.00' } })).status).toBe(200)
  expect((await as('ann', `PUT invoice/${id}/`, { body: { status: 'sent' } })).status).toBe(200)
  expect((await as('ann', `PUT ${item}`, { body: { price: '3.00' } })).status).toBe(403)
  expect((await as('ann', `DELETE ${item}`)).status).toBe(403)
  expect((await as('ann', `DELETE invoice/${id}/`)).status).toBe(403)
  await world.sql(`DELETE FROM "line" WHERE "invoiceId" = ${id}`)
  await world.sql(`DELETE FROM "invoice" WHERE "id" = ${id}`)
})

test('a role in a company does not count in another one', async () => {
  const { as, world } = tracker
  await world.sql(`UPDATE "membership" SET "role" = 'member' WHERE "id" = 1`)
  // Company 1 has a member ann, and ann is no manager any more, although others are.
  await world.sql(`UPDATE "membership" SET "role" = 'manager' WHERE "id" = 2`)
  expect((await as('ann', 'PUT project/1/', { body: { name: 'Atlas' } })).status).toBe(403)
  expect((await as('ann', 'GET rate/1/')).status).toBe(404)
  expect((await as('bob', 'GET rate/1/')).status).toBe(200)
  expect((await as('bob', 'GET project/1/')).text).toContain('budget')
  await world.sql(`UPDATE "membership" SET "role" = 'manager' WHERE "id" = 1`)
  await world.sql(`UPDATE "membership" SET "role" = 'member' WHERE "id" = 2`)
})

test.each<readonly [who: Who, line: string, body: unknown]>([
  ['bob', 'PUT person/2/', { username: 'eve' }],
  ['ann', 'POST invoice/', { number: 'A-1', project_id: 1 }],
  ['cleo', 'POST tag/', { label: 'black', company_id: 2 }],
  ['ann', 'POST membership/', { company_id: 1, person_id: 2 }],
  ['bob', 'POST rate/', { hourly: 1, company_id: 1, person_id: 1 }],
])('a 409 of %s %s %j names the fields of the body only', async (who, line, body) => {
  const reply = await tracker.as(who, line, { body })
  const { errors = [] } = reply.json() as { readonly errors?: readonly { readonly field: string }[] }
  expect(reply.status).toBe(409)
  expect(errors.map(({ field }) => field).filter((field) => !(field in Object(body)))).toEqual([])
  expect(reply.text).not.toMatch(/120|"id"|sent|ann|password/)
})

test.each<readonly [who: Who, line: string]>([
  ['ann', 'PUT task/3/'],
  ['ann', 'DELETE task/3/'],
  ['bob', 'PUT rate/1/'],
  ['dan', 'PUT invoice/2/'],
])('%s %s is 404 with any If-Match', async (who, line) => {
  const { as } = tracker
  const { headers } = await as(who === 'ann' ? 'cleo' : 'ann', line.replace(/\w+/, 'GET'))
  const missing = await as(who, line.replace(/\d/, '99'), { body: {}, headers: { 'If-Match': '*' } })
  for (const tag of [String(headers.etag), '"none"', '*']) {
    const reply = await as(who, line, { body: {}, headers: { 'If-Match': tag } })
    expect([reply.status, reply.text]).toEqual([404, missing.text])
  }
})

@Entity()
@Resource({ auth: userRule() })
class Attachment {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 40 }) file!: string
  @ManyToOne(() => Task) task!: Relation<Task>
}

test('(e) a resource without a row scope is a mistake at mount', async () => {
  const dataSource = await createDataSource({ entities: [...trackerEntities, Attachment], synchronize: true })
  await dataSource.initialize()
  expect(() => mountResources(new Koa(), dataSource, trackerOptions)).toThrow(/Attachment.*scope/)
  await dataSource.destroy()
  await dropDatabase(dataSource)
})

test('mounted.resources reports the rules of all resources', () => {
  const { resources } = tracker.world.mounted
  const reported = resources.map(({ name, rule, scope, may = [] }) => `${name}: ${rule}, ${scope}; ${may.join()}`)
  expect(reported.toSorted()).toEqual([
    'apikey: user, filter; ',
    'comment: user, through task; update,delete',
    'company: user, filter; create,update,delete',
    'entry: user, filter; update,delete',
    'guest: user, through project; create,update,delete',
    'invoice: user, filter; create,update,delete',
    'line: user, through invoice; create,update,delete',
    'membership: user, through company; create,update,delete',
    'person: user, filter; create,update,delete',
    'project: user, filter; create,update,delete',
    'rate: user, filter; ',
    'tag: user, filter; create,update,delete',
    'task: user, through project; create,update,delete',
  ])
})
