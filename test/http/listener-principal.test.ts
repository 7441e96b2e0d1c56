import {
  Column,
  DeleteDateColumn,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type LoadEvent,
  PrimaryGeneratedColumn,
  type QueryRunner,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm'
import { anonymous, type Principal, Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { openWorld, type World } from '../world/world'

/** The user whom the header `X-User` names; without it, the request is anonymous. */
const userOfHeader: Rule = ({ context }) => {
  const id = context.get('x-user')
  return id === '' ? anonymous : { id, admin: id === 'root' }
}

@Entity()
@Resource({ auth: userOfHeader })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

/** Is soft-deleted. */
@Entity()
@Resource({ auth: userOfHeader })
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @DeleteDateColumn() gone!: Date | null
}

/** Node of a tree. */
@Entity()
@Tree('materialized-path')
@Resource({ auth: userOfHeader })
class Folder {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @TreeParent() parent!: Folder | null
  @TreeChildren() children!: Folder[]
}

/** Is written by a subscriber, through the manager of the event. */
@Entity()
class Log {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

/** Events since the last call of {@link recorded}: `beforeInsert Note`, and the principal at that time. */
const events: (readonly [event: string, principal: unknown])[] = []
const recorded = (): readonly (readonly [string, unknown])[] => events.splice(0)
const principalOf = ({ data }: QueryRunner): Principal | undefined => data['principal']

interface AnyEvent {
  readonly queryRunner: QueryRunner
  readonly metadata?: { readonly name: string }
}

async function record(name: string, { queryRunner, metadata }: AnyEvent): Promise<void> {
  const before = principalOf(queryRunner)
  await new Promise(setImmediate)
  // Another request must not change what a listener finds after it has awaited something.
  expect(principalOf(queryRunner)).toBe(before)
  events.push([metadata === undefined ? name : `${name} ${metadata.name}`, before])
}

@EventSubscriber()
class Recorder implements EntitySubscriberInterface {
  beforeInsert = (event: AnyEvent): Promise<void> => record('beforeInsert', event)
  beforeUpdate = (event: AnyEvent): Promise<void> => record('beforeUpdate', event)
  afterUpdate = (event: AnyEvent): Promise<void> => record('afterUpdate', event)
  beforeRemove = (event: AnyEvent): Promise<void> => record('beforeRemove', event)
  afterRemove = (event: AnyEvent): Promise<void> => record('afterRemove', event)
  beforeSoftRemove = (event: AnyEvent): Promise<void> => record('beforeSoftRemove', event)
  afterSoftRemove = (event: AnyEvent): Promise<void> => record('afterSoftRemove', event)
  beforeTransactionStart = (event: AnyEvent): Promise<void> => record('beforeTransactionStart', event)
  afterTransactionCommit = (event: AnyEvent): Promise<void> => record('afterTransactionCommit', event)
  afterTransactionRollback = (event: AnyEvent): Promise<void> => record('afterTransactionRollback', event)

  async afterInsert(event: AnyEvent & { manager: QueryRunner['manager']; entity: { text: string } }): Promise<void> {
    await record('afterInsert', event)
    if (event.metadata?.name === 'Draft') await event.manager.save(Log, { text: 'a draft' })
    if (event.entity.text === 'refused') throw new Error('refused')
  }

  async afterLoad(_: unknown, event?: LoadEvent<unknown>): Promise<void> {
    if (event !== undefined) await record('afterLoad', event)
  }
}

const runners: QueryRunner[] = []
let world: World
beforeAll(async () => {
  const source = { subscribers: [Recorder] }
  world = await openWorld({ entities: [Note, Draft, Folder, Log], source })
  const create = world.dataSource.createQueryRunner.bind(world.dataSource)
  world.dataSource.createQueryRunner = (mode) => {
    const runner = create(mode)
    runners.push(runner)
    return runner
  }
})
beforeEach(() => {
  recorded()
  runners.length = 0
})
afterEach(() => {
  expect(runners.filter(({ data }) => 'principal' in data)).toEqual([])
})
afterAll(() => world.close())

const request = (line: string, user?: string, body?: unknown): ReturnType<typeof send> =>
  send(world.url, line, { body, headers: user === undefined ? {} : { 'X-User': user } })

/** A request on a record of the resource, and the events of TypeORM that it causes. */
type Case = readonly [line: string, body: unknown, events: readonly string[]]
const cases: readonly Case[] = [
  ['POST /api/note/', { text: 'a' }, ['beforeInsert Note', 'afterInsert Note']],
  ['PUT /api/note/:id/', { text: 'b' }, ['beforeUpdate Note', 'afterUpdate Note']],
  ['GET /api/note/:id/', undefined, ['afterLoad Note']],
  ['GET /api/note/', undefined, ['afterLoad Note']],
  ['DELETE /api/note/:id/', undefined, ['beforeRemove Note', 'afterRemove Note']],
  ['POST /api/draft/', { text: 'a' }, ['beforeInsert Draft', 'beforeInsert Log', 'afterInsert Draft']],
  ['PUT /api/draft/:id/', { text: 'b' }, ['beforeUpdate Draft', 'afterUpdate Draft']],
  ['DELETE /api/draft/:id/', undefined, ['beforeSoftRemove Draft', 'afterSoftRemove Draft']],
  ['POST /api/folder/', { text: 'a' }, ['beforeInsert Folder', 'afterInsert Folder']],
  ['PUT /api/folder/:id/', { text: 'b' }, ['beforeUpdate Folder', 'afterUpdate Folder']],
  ['DELETE /api/folder/:id/', undefined, ['beforeRemove Folder', 'afterRemove Folder']],
]

test.each(cases)('listeners find the principal of the request: %s', async (line, body, expected) => {
  const resource = /api\/(\w+)/.exec(line)?.[1] ?? ''
  for (const [user, principal] of [
    ['ann', { id: 'ann', admin: false }],
    ['root', { id: 'root', admin: true }],
    [undefined, anonymous],
  ] as const) {
    const { id } = (await request(`POST /api/${resource}/`, 'setup', { text: 'old' })).json() as { id: number }
    recorded()
    expect((await request(line.replace(':id', String(id)), user, body)).status).toBeLessThan(300)
    const found = recorded()
    expect(found.map(([event]) => event)).toEqual(expect.arrayContaining([...expected]))
    expect(found.map(([event, seen]) => ({ event, seen }))).toEqual(
      found.map(([event]) => ({ event, seen: principal })),
    )
  }
})

test('listeners find the principal at the start and the end of the transaction', async () => {
  await request('POST /api/note/', 'ann', { text: 'a' })
  const transactions = recorded().filter(([event]) => /Transaction/.test(event))
  expect(transactions.map(([event, principal]) => [event, (principal as Principal).id])).toEqual([
    ['beforeTransactionStart', 'ann'],
    ['afterTransactionCommit', 'ann'],
  ])
})

test('a query runner does not keep the principal of a write that was rolled back', async () => {
  expect((await request('POST /api/note/', 'ann', { text: 'refused' })).status).toBe(500)
  expect(recorded()).toContainEqual(['afterTransactionRollback', { id: 'ann', admin: false }])
  expect(runners.length).toBeGreaterThan(0)
})

test('writes of the application have no principal, also while requests are handled', async () => {
  const notes = world.dataSource.getRepository(Note)
  const users = ['ann', 'bob', 'cid', 'dan']
  const replies = await Promise.all(
    users.flatMap((user) => [request('POST /api/note/', user, { text: user }), notes.save({ text: 'own' })]),
  )
  const inserts = recorded().filter(([event]) => event === 'afterInsert Note')
  const ids = inserts.map(([, principal]) => (principal as Principal | undefined)?.id)
  expect(ids.filter((id) => id !== undefined).sort()).toEqual(users)
  expect(ids.filter((id) => id === undefined)).toHaveLength(users.length)
  expect(replies).toHaveLength(2 * users.length)
})

test('each of the requests that read at the same time has its own principal', async () => {
  await request('POST /api/note/', 'ann', { text: 'a' })
  recorded()
  const users = Array.from({ length: 12 }, (_, index) => `user${index}`)
  await Promise.all(users.map((user) => request('GET /api/note/?limit=1', user)))
  const ids = recorded().flatMap(([event, principal]) =>
    event === 'afterLoad Note' ? [(principal as Principal).id] : [],
  )
  expect(ids.sort()).toEqual([...users].sort())
})
