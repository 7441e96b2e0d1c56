import { setTimeout } from 'node:timers/promises'
import { Validate, ValidatorConstraint, type ValidatorConstraintInterface } from 'class-validator'
import {
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  type RemoveEvent,
  type UpdateEvent,
} from 'typeorm'
import { problem, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { Gate } from '../support/gate'
import { isSqlite, sqlOf } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Nested writes with listeners that fail, and at the same time as other writes. */

const gate = new Gate()

/** Makes a request wait after the stored records have been read, and before anything is written. */
@ValidatorConstraint({ async: true })
class Waits implements ValidatorConstraintInterface {
  async validate(): Promise<boolean> {
    await gate.pass()
    return true
  }
}

@Entity()
@Resource({ bulk: true, auth: permitAll, nested: ['steps', 'topics'] })
class Plan {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, nullable: true, unique: true }) code!: string | null
  @Column({ length: 20 }) title!: string
  @Column({ type: 'int', default: 0 }) total!: number
  @OneToMany(
    () => Step,
    (step) => step.plan,
  )
  steps!: Relation<Step>[]
  @ManyToMany(
    () => Topic,
    (topic) => topic.plans,
  )
  @JoinTable()
  topics!: Relation<Topic>[]
}

@Entity()
@Resource({ auth: permitAll })
class Step {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) @Validate(Waits) text!: string
  @ManyToOne(
    () => Plan,
    (plan) => plan.steps,
    { nullable: false },
  )
  plan!: Relation<Plan>
}

@Entity()
@Resource({ auth: permitAll, nested: ['plans'] })
class Topic {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int', default: 0 }) uses!: number
  @ManyToMany(
    () => Plan,
    (plan) => plan.topics,
  )
  plans!: Relation<Plan>[]
}

/** The events of steps, with the principal of their request. */
const events: string[] = []
/** Called after a step was inserted. */
let afterInsert: (event: InsertEvent<Step>) => Promise<void> = async () => undefined

@EventSubscriber()
class StepListener implements EntitySubscriberInterface<Step> {
  listenTo(): typeof Step {
    return Step
  }
  #fail(at: string, { text, plan }: Partial<Step>): void {
    events.push(`${at} ${text} ${plan?.id ?? '-'}`)
    if (text === `fail ${at}`) throw new Error(text)
    if (text === `refuse ${at}`) throw problem(409, 'the step is refused', { field: 'text' })
  }
  beforeInsert({ entity }: InsertEvent<Step>): void {
    this.#fail('insert', entity)
  }
  async afterInsert(event: InsertEvent<Step>): Promise<void> {
    this.#fail('inserted', event.entity)
    await afterInsert(event)
  }
  beforeUpdate({ entity = {} }: UpdateEvent<Step>): void {
    this.#fail('update', entity)
  }
  beforeRemove({ databaseEntity }: RemoveEvent<Step>): void {
    this.#fail('remove', databaseEntity)
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Plan, Step, Topic], source: { subscribers: [StepListener] } })
  await world.dataSource.getRepository(Topic).insert([{}, {}, {}, {}])
})
beforeEach(() => {
  events.length = 0
  afterInsert = async () => undefined
})
afterAll(() => world.close())

const request = (line: string, body?: unknown): Promise<Reply> => send(world.url, line.replace(' ', ' /api/'), { body })

async function create(
  ...texts: readonly string[]
): Promise<{ readonly id: number; readonly steps: readonly number[] }> {
  const body = { title: 'new', steps: texts.map((text) => ({ text })) }
  const { id, steps } = (await request('POST plan/?include=steps(ordering:id)', body)).json() as {
    id: number
    steps: readonly { id: number }[]
  }
  events.length = 0
  return { id, steps: steps.map((step) => step.id) }
}

async function textsOf(id: number): Promise<string> {
  const steps = await world.sql(`SELECT "text" FROM "step" WHERE "planId" = ${id} ORDER BY "id"`)
  return steps.map(({ text }) => text).join()
}

const seven = (last: string): readonly object[] => [...'abcdef', last].map((text) => ({ text }))

describe.each([
  ['insert', (last: string, id: number) => ({ title: 'no', steps: [...seven(last), { id }] })],
  ['inserted', (last: string, id: number) => ({ title: 'no', steps: [...seven(last), { id }] })],
  ['update', (last: string, id: number) => ({ title: 'no', steps: [...seven('g'), { id, text: last }] })],
] as const)('a listener fails: %s', (at, bodyOf) => {
  test.each([
    ['an error', `fail ${at}`, 500],
    ['a problem', `refuse ${at}`, 409],
  ])('%s: nothing is written', async (_, last, status) => {
    const { id, steps } = await create('one', 'two')
    const reply = await request(`PUT plan/${id}/`, bodyOf(last, steps[0] ?? 0))
    expect([reply.status, await textsOf(id)]).toEqual([status, 'one,two'])
    expect((await request(`GET plan/${id}/`)).json()).toMatchObject({ id, title: 'new', total: 0 })
    if (status !== 409) return
    const errors = [{ field: at === 'update' ? 'steps[7].text' : 'steps[6].text', message: 'the step is refused' }]
    expect(reply.json()).toEqual({
      type: 'about:blank',
      title: 'Conflict',
      status,
      detail: 'the step is refused',
      errors,
    })
  })

  test('a POST stores nothing', async () => {
    if (at === 'update') return
    const reply = await request('POST plan/', { title: `never ${at}`, steps: seven(`fail ${at}`) })
    expect([reply.status, await world.sql(`SELECT 1 FROM "plan" WHERE "title" = 'never ${at}'`)]).toEqual([500, []])
  })
})

test('a listener refuses to delete', async () => {
  const { id, steps } = await create('one', 'refuse remove')
  const reply = await request(`PUT plan/${id}/`, { steps: [{ id: steps[0], text: 'changed' }] })
  expect([reply.status, await textsOf(id)]).toEqual([409, 'one,refuse remove'])
})

test('listeners get the foreign key, records are deleted first, and the response shows what listeners have changed', async () => {
  const { id, steps } = await create('one', 'two')
  afterInsert = async ({ manager }) => {
    await manager.increment(Plan, { id }, 'total', 1)
  }
  const reply = await request(`PUT plan/${id}/`, {
    title: 't',
    steps: [{ text: 'new' }, { id: steps[1], text: 'changed' }],
  })
  expect([reply.status, reply.json()]).toMatchObject([200, { id, title: 't', total: 1 }])
  expect(reply.headers.etag).toBe((await request(`GET plan/${id}/`)).headers.etag)
  expect(events).toEqual([`remove one ${id}`, `update changed ${id}`, `insert new ${id}`, `inserted new ${id}`])
})

describe('another request changes the records after they were read', () => {
  test.each<[string, (a: number, b: number, id: number) => [string, unknown?], number, string]>([
    ['deletes a record that the body does not have', (_, b) => [`DELETE step/${b}/`], 200, 'mine'],
    ['deletes a record of the body', (a) => [`DELETE step/${a}/`], 400, 'two'],
    ['adds a record', (_, __, id) => ['POST step/', { text: 'new', plan_id: id }], 200, 'mine'],
    ['changes a record of the body', (a) => [`PATCH step/${a}/`, { text: 'theirs' }], 200, 'mine'],
    ['moves a record to another parent', (a, _, id) => [`PATCH step/${a}/`, { plan_id: id - 1 }], 400, 'two'],
    ['replaces all records', (_, __, id) => [`PUT plan/${id}/`, { steps: [] }], 400, ''],
    ['changes the parent', (_, __, id) => [`PATCH plan/${id}/`, { title: 'theirs' }], 200, 'mine'],
  ])('it %s', async (_, otherOf, status, expected) => {
    await create()
    const { id, steps } = await create('one', 'two')
    const waits = gate.close()
    const first = request(`PUT plan/${id}/`, { steps: [{ id: steps[0], text: 'mine' }] })
    await waits
    const other = await request(...otherOf(steps[0] ?? 0, steps[1] ?? 0, id))
    gate.open()
    expect([other.status < 300, (await first).status, await textsOf(id)]).toEqual([true, status, expected])
  })

  test('it deletes the parent', async () => {
    const { id } = await create()
    const waits = gate.close()
    const first = request(`PUT plan/${id}/`, { steps: [{ text: 'new' }] })
    await waits
    expect((await request(`DELETE plan/${id}/`)).status).toBe(204)
    gate.open()
    expect((await first).status).toBe(404)
  })

  test('it deletes a record that the body links', async () => {
    const { id } = await create()
    const topic = await world.dataSource.getRepository(Topic).save({})
    const waits = gate.close()
    const first = request(`PUT plan/${id}/`, { steps: [{ text: 'new' }], topic_ids: [1, topic.id] })
    await waits
    expect((await request(`DELETE topic/${topic.id}/`)).status).toBe(204)
    gate.open()
    const reply = await first
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('topic_ids[1] points to no topic')])
    expect(await textsOf(id)).toBe('')
  })

  test('it links the same records from the other side', async () => {
    const { id } = await create()
    const waits = gate.close()
    const first = request(`PUT plan/${id}/`, { steps: [{ text: 'new' }], topic_ids: [1, 2] })
    await waits
    expect((await request('PUT topic/2/', { plan_ids: [id] })).status).toBe(200)
    gate.open()
    expect([(await first).status, await textsOf(id)]).toEqual([200, 'new'])
  })
})

test('of several PUTs at the same time, the last one decides about all records', async () => {
  const { id } = await create('one', 'two')
  const bodies = [...'abcdefghijkl'].map((letter, index) => ({
    steps: [1, 2, 3].map((number) => ({ text: `${letter}${number}` })),
    topic_ids: [1 + (index % 4), 1 + ((index + 1) % 4)],
  }))
  const replies = await Promise.all(bodies.map((body) => request(`PUT plan/${id}/`, body)))
  expect(replies.map(({ status }) => status)).toEqual(bodies.map(() => 200))
  const texts = await textsOf(id)
  const winner = bodies.find(({ steps }) => steps.map(({ text }) => text).join() === texts)
  const { topics } = (await request(`GET plan/${id}/?include=topics(ordering:id)`)).json() as {
    topics: { id: number }[]
  }
  expect(topics.map((topic) => topic.id)).toEqual(winner?.topic_ids.toSorted())
})

test('PUTs of clients that send one after the other all succeed', async () => {
  const { id } = await create('one', 'two')
  const clients = [...'abcdefgh'].map(async (letter) => {
    const statuses: number[] = []
    for (const number of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const body = { steps: [1, 2, 3].map((step) => ({ text: `${letter}${number}${step}` })), topic_ids: [1, 2] }
      statuses.push((await request(`PUT plan/${id}/`, body)).status)
    }
    return statuses
  })
  expect((await Promise.all(clients)).flat()).toEqual(Array.from({ length: 64 }, () => 200))
})

// SQLite runs one transaction at a time.
if (!isSqlite) {
  test('after a deadlock, the whole write runs once more', async () => {
    let waiting = 0
    let isFree = false
    afterInsert = async ({ entity: { text }, queryRunner }) => {
      const [topic] = text.match(/\d+$/) ?? []
      if (topic === undefined) return
      await queryRunner.query(sqlOf(`UPDATE "topic" SET "uses" = "uses" + 1 WHERE "id" = ${topic}`))
      waiting++
      // Each request has locked one topic before it locks the other one.
      for (let time = 0; waiting < 2 && !isFree && time < 100; time++) await setTimeout(20)
      isFree = true
    }
    const replies = await Promise.all(
      [
        ['x1', 'x2'],
        ['y2', 'y1'],
      ].map((texts) => request('POST plan/', { title: 'dead', steps: texts.map((text) => ({ text })) })),
    )
    expect(replies.map(({ status }) => status)).toEqual([201, 201])
    const stored = await world.sql(`SELECT "text" FROM "step" WHERE "text" IN ('x1', 'x2', 'y1', 'y2') ORDER BY "text"`)
    expect(stored.map(({ text }) => text)).toEqual(['x1', 'x2', 'y1', 'y2'])
    expect(await world.sql(`SELECT "uses" FROM "topic" WHERE "id" < 3`)).toEqual([{ uses: 2 }, { uses: 2 }])
  })
}

test('other requests run while many related records are written', async () => {
  const { id, steps } = await create(...Array(120).fill('old'))
  const seen = new Set<number>()
  let timer: NodeJS.Immediate | undefined
  const observe = (): void => {
    seen.add(events.length)
    timer = setImmediate(observe)
  }
  observe()
  const reply = await request(`PATCH plan/${id}/`, { steps: steps.map((step) => ({ id: step, text: 'new' })) })
  const upserts = Array.from({ length: 60 }, (_, index) => ({ code: `c${index}`, title: 'many', steps: seven('g') }))
  const created = await request('POST plan/?on_conflict=code', upserts)
  clearImmediate(timer)
  expect([reply.status, created.status]).toEqual([200, 200])
  const counts = [...seen]
  expect(counts.some((count) => count > 0 && count < 120)).toBe(true)
  expect(counts.some((count) => count > 120 && count < events.length)).toBe(true)
})
