import type { Reply } from '../client'
import { openTracker, people, type Tracker, type Who } from '../support/tracker'
import { creations, permitted } from '../tables/tracker'

/** The tracker of the sample: what each person may do with each record, on every path to it. */

let tracker: Tracker
beforeAll(async () => {
  tracker = await openTracker()
})
afterAll(async () => {
  await tracker.close()
  expect(tracker.world.faults).toEqual([])
})

const resources = [...new Set(permitted.map(([resource]) => resource))]
const cells = resources.flatMap((resource) => people.map((who) => [resource, who] as const))

/** The records of a resource with the actions that a person may do, from the table. */
function recordsOf(resource: string, who: (typeof people)[number]) {
  const column = people.indexOf(who)
  return permitted
    .filter(([name]) => name === resource)
    .map(([, id, field, ...actions]) => ({ id, field, may: actions[column] ?? '-' }))
}

function visibleIds(resource: string, who: (typeof people)[number]): readonly number[] {
  return recordsOf(resource, who).flatMap(({ id, may }) => (may.includes('r') ? [id] : []))
}

test.each(cells)('a list of %s for %s has the visible records, whatever its parameters', async (resource, who) => {
  const { idsOf } = tracker
  const ids = visibleIds(resource, who)
  const all = recordsOf(resource, who).map(({ id }) => id)
  const alternatives = all.map((id) => `id:${id}`).join()
  const paths = ['', `id__in=${all}`, all.map((id) => `id=${id}`).join('&'), `or=(${alternatives})`, 'not=(id:99)']
  for (const query of paths) expect([query, await idsOf(who, `${resource}/?${query}`)]).toEqual([query, ids])
  expect(await idsOf(who, `${resource}/?ordering=-id`)).toEqual(ids.toReversed())
  const hidden = all.filter((id) => !ids.includes(id))
  if (hidden.length > 0) expect(await idsOf(who, `${resource}/?id__in=${hidden}`)).toEqual([])
})

interface List {
  readonly objects: readonly { readonly id: number }[]
  readonly meta: { readonly total?: number; readonly next: string }
}

test.each(cells)('counts, pages and HEAD of %s for %s show visible records only', async (resource, who) => {
  const ids = visibleIds(resource, who)
  const listOf = async (path: string) => (await tracker.as(who, `GET ${path}`)).json() as List
  for (const count of ['exact', 'capped']) {
    expect((await listOf(`${resource}/?count=${count}&limit=1`)).meta.total).toBe(ids.length)
  }
  for (const start of ['page=1', 'after=']) {
    const seen: number[] = []
    for (let path = `${resource}/?${start}&limit=1`; path !== ''; ) {
      const { objects, meta } = await listOf(path)
      seen.push(...objects.map(({ id }) => id))
      path = meta.next.replace('/api/', '')
    }
    expect(seen).toEqual(ids)
  }
  const { status, headers, text } = await tracker.as(who, `HEAD ${resource}/`)
  const { headers: ofGet } = await tracker.as(who, `GET ${resource}/`)
  expect([status, headers['content-length'], text]).toEqual([200, ofGet['content-length'], ''])
})

interface EntrySum {
  readonly task: number
  readonly count: number
  readonly minutes__sum: number
}

test.each(people)('groups of entries for %s have the visible records only', async (who) => {
  const objectsOf = async (query: string): Promise<readonly unknown[]> =>
    ((await tracker.as(who, `GET entry/?${query}`)).json() as { readonly objects: readonly unknown[] }).objects
  const entries = (await objectsOf('')) as readonly { readonly task_id: number; readonly minutes: number }[]
  const sums = new Map<number, EntrySum>()
  for (const { task_id: task, minutes } of entries) {
    const { count, minutes__sum } = sums.get(task) ?? { count: 0, minutes__sum: 0 }
    sums.set(task, { task, count: count + 1, minutes__sum: minutes__sum + minutes })
  }
  const expected = [...sums.values()].toSorted((one, other) => one.task - other.task)
  expect(await objectsOf('aggregate=count,minutes__sum&by=task')).toEqual(expected)
  const minutes = entries.map((entry) => entry.minutes)
  expect(await objectsOf('aggregate=count,minutes__max')).toEqual([
    { count: entries.length, minutes__max: minutes.length === 0 ? null : Math.max(...minutes) },
  ])
})

interface Identified {
  readonly id: number
}
interface BoardTask extends Identified {
  readonly assignee_id: number | null
  readonly project: Identified
  readonly assignee: Identified | null
  readonly tags: readonly Identified[]
  readonly comments: readonly (Identified & { readonly author_id: number; readonly author: Identified | null })[]
  readonly comments_total: number
}
const idsIn = (records: readonly Identified[]): readonly number[] => records.map(({ id }) => id)

test.each(people)('tasks with related records for %s have the visible ones, and count these', async (who) => {
  const query = 'include=project,assignee,tags,comments(count:exact,include:author)'
  const { objects } = (await tracker.as(who, `GET task/?${query}`)).json() as { readonly objects: readonly BoardTask[] }
  expect(idsIn(objects)).toEqual(visibleIds('task', who))
  const persons = visibleIds('person', who)
  const visiblePerson = (id: number | null) => (id !== null && persons.includes(id) ? id : undefined)
  for (const { id, project, assignee_id, assignee, tags, comments, comments_total } of objects) {
    expect(visibleIds('project', who)).toContain(project.id)
    expect(assignee?.id).toBe(visiblePerson(assignee_id))
    expect(idsIn(tags)).toEqual(await tracker.idsOf(who, `tag/?tasks__id=${id}`))
    expect(idsIn(comments)).toEqual(await tracker.idsOf(who, `comment/?task=${id}`))
    expect(comments_total).toBe(comments.length)
    for (const { author_id, author } of comments) expect(author?.id).toBe(visiblePerson(author_id))
  }
})

test.each(people)('the CSV file of entries for %s has the visible records only', async (who) => {
  const { status, text } = await tracker.as(who, 'GET entry/?format=csv&fields=minutes')
  const rows = recordsOf('entry', who)
    .filter(({ may }) => may.includes('r'))
    .map(({ id, field }) => [id, ...Object.values(field)].join())
  expect([status, text]).toEqual([200, ['id,minutes', ...rows, ''].join('\r\n')])
})

/** A person who sees a record. */
const readerOf = (resource: string, id: number): Who => people.find((who) => visibleIds(resource, who).includes(id))

/** A response without its headers. */
const bodyOf = ({ status, text }: Reply) => [status, text]

test.each(cells)('items of %s for %s: reads and conditional reads', async (resource, who) => {
  const { as } = tracker
  const missing = await as(who, `GET ${resource}/99/`)
  expect(missing.status).toBe(404)
  for (const { id, may } of recordsOf(resource, who)) {
    const isVisible = may.includes('r')
    const reply = await as(who, `GET ${resource}/${id}/`)
    expect([id, reply.status]).toEqual([id, isVisible ? 200 : 404])
    if (!isVisible) expect(bodyOf(reply)).toEqual(bodyOf(missing))
    expect([id, (await as(who, `HEAD ${resource}/${id}/`)).status]).toEqual([id, isVisible ? 200 : 404])
    // Entity tags of a person who sees the record, and of any record.
    const reader = readerOf(resource, id)
    const tag = reader === undefined ? '*' : String((await as(reader, `GET ${resource}/${id}/`)).headers.etag)
    for (const value of [tag, '*']) {
      const conditional = await as(who, `GET ${resource}/${id}/`, { headers: { 'If-None-Match': value } })
      if (!isVisible) expect(bodyOf(conditional)).toEqual(bodyOf(missing))
    }
  }
})

test.each(cells)('items of %s for %s: refused writes change nothing', async (resource, who) => {
  const { as, rows } = tracker
  const before = await rows()
  const expected = (may: string, action: string) => (may.includes(action) ? 'permitted' : may === '-' ? 404 : 403)
  for (const { id, field, may } of [...recordsOf(resource, who), { id: 99, field: {}, may: '-' }]) {
    const item = `${resource}/${id}/`
    for (const method of ['PUT', 'PATCH']) {
      const { status } = await as(who, `${method} ${item}`, { body: field })
      expect([method, id, status === 200 ? 'permitted' : status]).toEqual([method, id, expected(may, 'u')])
    }
    const wanted = expected(may, 'd')
    // A deletion that is permitted fails at its precondition, which is checked later.
    const headers = { 'If-Match': '"none"' }
    const { status } = await as(who, `DELETE ${item}`, wanted === 'permitted' ? { headers } : {})
    expect(['DELETE', id, status === 412 ? 'permitted' : status]).toEqual(['DELETE', id, wanted])
  }
  expect(await rows()).toEqual(before)
})

test.each(resources)('%s is 401 without credentials, on every path', async (resource) => {
  const { as, rows } = tracker
  const before = await rows()
  const paths = [`${resource}/`, `${resource}/?id=1&count=exact`, `${resource}/1/`, `${resource}/99/`]
  for (const path of paths) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      expect([method, path, (await as(undefined, `${method} ${path}`)).status]).toEqual([method, path, 401])
    }
  }
  expect(await rows()).toEqual(before)
})

/** The same JSON in all media types of a body: content type and text. */
const encodings: readonly (readonly [name: string, type: string, encode: (json: string) => string])[] = [
  ['JSON', 'application/json', (json) => json],
  ['curl -d', 'application/x-www-form-urlencoded', (json) => json],
  ['curl --data-urlencode', 'application/x-www-form-urlencoded', encodeURIComponent],
  ['a form field "data"', 'application/x-www-form-urlencoded', (json) => `data=${encodeURIComponent(json)}`],
  [
    'a multipart form',
    'multipart/form-data; boundary=form',
    (json) => `--form\r\nContent-Disposition: form-data; name="data"\r\n\r\n${json}\r\n--form--\r\n`,
  ],
]

test.each(encodings)('POST as %s has the status in the table', async (name, type, encode) => {
  const { as, rows, world } = tracker
  const before = await rows()
  for (const [resource, body, ...statuses] of creations) {
    const json = JSON.stringify(body)
    // The other media types of a body: only one person, who is refused if anybody is.
    const refused = Math.max(
      0,
      statuses.findIndex((status) => status !== 201),
    )
    for (const [index, who] of people.entries()) {
      if (name !== 'JSON' && index !== refused) continue
      const reply = await as(who, `POST ${resource}/`, { body: encode(json), headers: { 'Content-Type': type } })
      expect([resource, json, who, reply.status, reply.status === statuses[index] ? '' : reply.text]).toEqual([
        ...[resource, json, who, statuses[index], ''],
      ])
      if (reply.status !== 201) continue
      const { id } = reply.json() as { readonly id: number }
      await world.sql(`DELETE FROM "${resource}" WHERE "id" = ${id}`)
    }
  }
  expect(await rows()).toEqual(before)
})
