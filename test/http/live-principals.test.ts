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
  PrimaryGeneratedColumn,
} from 'typeorm'
import { type Principal, Resource } from 'typeorm-resources'
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

let world: LiveWorld
afterEach(() => world.close())

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
