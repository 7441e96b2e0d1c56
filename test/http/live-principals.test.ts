import { once } from 'node:events'
import { connect, constants, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type Koa from 'koa'
import {
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type LoadEvent,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { type MountOptions, type Principal, Resource } from 'typeorm-resources'
import { Label, type LiveWorld, liveEntities, openLiveWorld } from '../support/live-world'

/** Live lists of users who see different records, and clients that behave unusually (specification: Live lists). */

@Entity()
@Resource({ auth: ({ context }) => ({ id: context.get('X-User') }) })
class Wage {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') amount!: number
}

/** Only the boss sees amounts. */
@EventSubscriber()
class HideAmounts implements EntitySubscriberInterface<Wage> {
  listenTo() {
    return Wage
  }

  afterLoad(wage: Wage, event?: LoadEvent<Wage>) {
    const { principal } = (event?.queryRunner.data ?? {}) as { principal?: Principal }
    if (principal?.id !== 'boss') wage.amount = 0
  }
}

@Entity()
@Resource({ auth: ({ context }) => new Reader(context.get('X-User')) })
class Topic {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') rank!: number
  @OneToMany(
    () => Reply,
    ({ topic }) => topic,
  )
  replies!: Relation<Reply>[]
}

@Entity()
@Resource({
  auth: ({ context }) => new Reader(context.get('X-User')),
  scope: ({ id }) => ({ team__in: teams[String(id)] ?? [] }),
})
class Reply {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) team!: string
  @Column({ length: 20, default: '' }) text!: string
  @ManyToOne(
    () => Topic,
    ({ replies }) => replies,
  )
  topic!: Relation<Topic>
}

/** A principal whose properties `inspect` does not show. */
class Reader implements Principal {
  readonly #id: string

  constructor(id: string) {
    this.#id = id
  }

  get id(): string {
    return this.#id
  }
}

/** The teams whose replies a user may read. */
const teams: Record<string, string[]> = {}

let world: LiveWorld
beforeEach(() => {
  Object.assign(teams, { ann: ['red'], bob: ['blue'], cid: ['red', 'blue'] })
})
afterEach(() => world.close())

/** The texts of the replies in the records of an event. */
const textsIn = (event: readonly [string, unknown] | undefined): readonly string[] =>
  [event?.[1] as { replies: { text: string }[] }[]].flat().flatMap(({ replies }) => replies.map(({ text }) => text))

async function openTopics(mount: MountOptions = {}): Promise<void> {
  world = await openLiveWorld(mount, { entities: [...liveEntities, Topic, Reply], seed: async () => undefined })
  await world.dataSource.getRepository(Topic).insert({ rank: 1 })
  await world.dataSource.getRepository(Reply).insert([
    { team: 'red', text: 'of red', topic: { id: 1 } },
    { team: 'blue', text: 'of blue', topic: { id: 1 } },
  ])
}

test('users who may read other related records have other lists', async () => {
  await openTopics()
  for (const path of ['topic/?include=replies', 'topic/1/?include=replies']) {
    const readers = [await world.watch(path, 'ann'), await world.watch(path, 'bob'), await world.watch(path, 'cid')]
    const texts = await Promise.all(readers.map(async (reader) => textsIn((await reader.take(1))[0])))
    expect(texts).toEqual([['of red'], ['of blue'], ['of red', 'of blue']])
  }
})

test('a subscription ends when its user may read fewer related records, and a new one does not get them', async () => {
  await openTopics({ limits: { liveCheck: 100 } })
  const reader = await world.watch('topic/?include=replies', 'cid')
  expect(textsIn((await reader.take(1))[0])).toEqual(['of red', 'of blue'])
  teams['cid'] = ['red']
  await reader.waitForClose()
  await world.dataSource.getRepository(Reply).update(2, { text: 'new of blue' })
  const again = await world.watch('topic/?include=replies', 'cid')
  expect(textsIn((await again.take(1))[0])).toEqual(['of red'])
  expect(again.body).not.toContain('blue')
})

test('lists with different filters on included records are different lists', async () => {
  await openTopics()
  const readers = await Promise.all(
    ['red', 'blue'].map((team) => world.watch(`topic/?include=replies(team:${team})`, 'cid')),
  )
  const texts = await Promise.all(readers.map(async (reader) => textsIn((await reader.take(1))[0])))
  expect(texts).toEqual([['of red'], ['of blue']])
})

test('listeners change the records of each user', async () => {
  world = await openLiveWorld(
    {},
    { entities: [...liveEntities, Wage], source: { subscribers: [HideAmounts] }, seed: async () => undefined },
  )
  const wages = world.dataSource.getRepository(Wage)
  await wages.insert({ amount: 5000 })
  const [boss, ann] = [await world.watch('wage/', 'boss'), await world.watch('wage/', 'ann')]
  expect(await boss.take(1)).toEqual([['reset', [{ id: 1, amount: 5000 }]]])
  expect(await ann.take(1)).toEqual([['reset', [{ id: 1, amount: 0 }]]])
  await wages.update(1, { amount: 6000 })
  expect(await boss.take(1)).toEqual([['updated', { id: 1, amount: 6000 }]])
  expect(await ann.takeNone()).toEqual([])
})

test('a change of a key by a query builder is reported', async () => {
  world = await openLiveWorld()
  const reader = await world.watch('label/?fields=name')
  expect((await reader.take(1)).length).toBe(1)
  await world.dataSource.createQueryBuilder().update(Label).set({ id: 60 }).where({ id: 1 }).execute()
  const events = await reader.take(2)
  expect(events.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
    ['created', { id: 60, name: 'urgent' }],
    ['gone', { id: 1 }],
  ])
})

test('more events of one write than may wait reach a client that reads', async () => {
  world = await openLiveWorld({ limits: { liveBytes: 4096 } })
  const reader = await world.watch('task/')
  expect((await reader.take(1)).length).toBe(1)
  const records = Array.from({ length: 200 }, (_, index) => ({ title: `t${index}`, project_id: 1 }))
  expect((await world.request('POST task/', records)).status).toBe(201)
  expect((await reader.take(200)).length).toBe(200)
  expect(reader.isClosed).toBe(false)
})

test('with HTTP/2, a client that disconnects before the response leaves no subscription', async () => {
  const before = (app: Koa): void => {
    app.use(async (_, next) => {
      await sleep(30)
      await next()
    })
  }
  world = await openLiveWorld({ limits: { liveListsPerClient: 1 } }, { before })
  const server = createServer(world.app.callback())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const headers = { ':path': '/api/task/', 'x-user': 'ann:red', accept: 'text/event-stream' }
  for (let index = 0; index < 10; index++) {
    const request = client.request(headers)
    request.on('error', () => undefined)
    request.end()
    // Before the service begins, while it reads, and afterwards.
    await sleep(10 + 4 * index)
    request.close(constants.NGHTTP2_CANCEL)
  }
  let status = 0
  for (let attempt = 0; attempt < 100 && status !== 200; attempt++) {
    await sleep(50)
    ;({ status } = await world.watch('task/'))
  }
  client.destroy()
  server.close()
  expect(status).toBe(200)
})
