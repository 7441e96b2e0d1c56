import { Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { IdempotencyKey, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Responses to writes with related records: the record itself is shown as it was written. */

/** Everybody may create reports, and only the chief may read them. */
const byHeader: Rule = ({ context, method }) => {
  const id = context.get('x-as')
  return method === 'POST' || id === 'chief' ? { id } : null
}

@Entity()
@Resource({ auth: permitAll })
class Topic {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

@Entity()
@Resource({ auth: byHeader })
class Report {
  @PrimaryGeneratedColumn() id!: number
  @Column() decision!: string
  @ManyToOne(() => Topic, { nullable: true }) topic!: Relation<Topic> | null
  @OneToMany('Page', 'report') pages!: Relation<Page>[]
}

@Entity()
@Resource({ auth: permitAll })
class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Report, 'pages', { onDelete: 'CASCADE' }) report!: Relation<Report>
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Topic, Report, Page, IdempotencyKey],
    mount: { batch: true },
    seed: async (source) => void (await source.getRepository(Topic).insert([{ name: 'first' }, { name: 'second' }])),
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const request = (line: string, as: string, body: unknown, key?: string): Promise<Reply> =>
  send(world.url, line.replace(' ', ' /api/'), {
    body,
    headers: { 'x-as': as, ...(key === undefined ? {} : { 'Idempotency-Key': key }) },
  })

const includes = 'include=topic,pages(fields:(text),limit:1,count:exact)'
const written = { decision: '', topic_id: 1 }
const topicOne = { id: 1, name: 'first' }

type Body = Readonly<Record<string, unknown>>

/** The record in the response, of a request on its own or of the only operation of a batch. */
function recordOf(reply: Reply): Body {
  const body = reply.json() as Body & { readonly results?: readonly [{ readonly body: Body }] }
  return body.results?.[0].body ?? body
}

describe.each([
  ['a request', (as: string, key: string) => request(`POST report/?${includes}`, as, written, key)],
  [
    'a batch',
    (as: string, key: string) =>
      request('POST -/batch', as, [{ method: 'POST', path: `/api/report/?${includes}`, body: written }], key),
  ],
] as const)('%s that is repeated after the record has changed', (name, create) => {
  const change = async (id: unknown, topicId: number): Promise<void> => {
    const changed = { decision: 'refused', topic_id: topicId }
    expect((await request(`PATCH report/${id}/`, 'chief', changed)).status).toBe(200)
    for (const text of ['a', 'b']) expect((await request('POST page/', '', { text, report_id: id })).status).toBe(201)
  }

  test('shows a principal who may read the record its related records of now', async () => {
    const created = recordOf(await create('chief', `chief ${name}`.replaceAll(' ', '-')))
    const { id } = created
    expect(created).toEqual({ id, ...written, topic: topicOne, pages: [], pages_next: '', pages_total: 0 })
    await change(id, 1)
    const repeated = await create('chief', `chief ${name}`.replaceAll(' ', '-'))
    expect(repeated.headers['idempotent-replayed']).toBe('true')
    const pages = [{ id: expect.any(Number), text: 'a' }]
    const next = expect.stringContaining(`/api/page/?report_id=${id}`)
    expect(recordOf(repeated)).toEqual({
      ...{ id, ...written, topic: topicOne },
      ...{ pages, pages_next: next, pages_total: 2 },
    })
    // Another topic would not be that of the foreign key in the response.
    expect((await request(`PATCH report/${id}/`, 'chief', { topic_id: 2 })).status).toBe(200)
    expect(recordOf(await create('chief', `chief ${name}`.replaceAll(' ', '-')))).toEqual({
      ...{ id, ...written },
      ...{ pages, pages_next: next, pages_total: 2 },
    })
  })

  test('shows another principal neither the changed record nor its related records', async () => {
    const { id } = recordOf(await create('ann', `ann ${name}`.replaceAll(' ', '-')))
    await change(id, 2)
    const repeated = await create('ann', `ann ${name}`.replaceAll(' ', '-'))
    expect(repeated.headers['idempotent-replayed']).toBe('true')
    expect(recordOf(repeated)).toEqual({ id, ...written })
  })
})

test('a record that a later operation of the batch changes is shown as it was written, with related records of the end', async () => {
  const { id: known } = recordOf(await request('POST report/', 'chief', written))
  const id = Number(known) + 1
  const reply = await request('POST -/batch', 'chief', [
    { method: 'POST', path: `/api/report/?${includes}`, body: written },
    { method: 'PATCH', path: `/api/report/${id}/`, body: { decision: 'accepted', topic_id: 2 } },
    { method: 'POST', path: '/api/page/', body: { text: 'a', report_id: id } },
  ])
  const { results } = reply.json() as { readonly results: readonly { readonly body: Body }[] }
  expect(results[0]?.body).not.toHaveProperty('topic')
  expect(results).toMatchObject([
    { body: { id, ...written, pages: [{ text: 'a' }], pages_total: 1 } },
    { body: { id, decision: 'accepted', topic_id: 2 } },
    {},
  ])
})

test('a record that a later operation of the batch deletes has no related records, and the other results have theirs', async () => {
  const { id: first } = recordOf(await request('POST report/', 'chief', written))
  const { id: second } = recordOf(await request('POST report/', 'chief', written))
  const reply = await request('POST -/batch', 'chief', [
    { method: 'PATCH', path: `/api/report/${first}/?${includes}`, body: { decision: 'a' } },
    { method: 'DELETE', path: `/api/report/${first}/` },
    { method: 'PATCH', path: `/api/report/${second}/?${includes}`, body: { decision: 'b' } },
  ])
  const { results } = reply.json() as { readonly results: readonly { readonly body: Body }[] }
  expect(results.map(({ body }) => body)).toEqual([
    { id: first, ...written, decision: 'a' },
    null,
    { id: second, ...written, decision: 'b', topic: topicOne, pages: [], pages_next: '', pages_total: 0 },
  ])
})
