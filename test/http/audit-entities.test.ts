import {
  Column,
  CreateDateColumn,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  PrimaryGeneratedColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type LiveWorld, openLiveWorld } from '../support/live-world'
import { isPostgres } from '../world/leg'

/** Entities of an audit log: their columns, their subscribers, and a live list of them (specification: Audit log). */

const auth = ({ context }: { readonly context: { get(name: string): string } }) => ({ id: context.get('X-User') })

@Entity()
@Resource({ auth, bulk: true })
class Thing {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

const upperCase = { to: (value?: string) => value?.toUpperCase(), from: (value: string) => value }

/** With a generated key of text, a transformer, a default, and the type of JSON that TypeORM writes with a cast. */
@Entity()
@Resource({ auth })
class Entry {
  @PrimaryGeneratedColumn('uuid') id!: string
  @Column({ length: 40 }) resource!: string
  @Column({ length: 40 }) record!: string
  @Column({ length: 10, transformer: upperCase }) action!: string
  @Column({ type: 'varchar', length: 40, nullable: true }) principal!: string | null
  @Column({ type: isPostgres ? 'jsonb' : 'simple-json' }) changes!: object
  @Column({ length: 10, default: 'api' }) source!: string
  @CreateDateColumn() at!: Date
}

@EventSubscriber()
class EntrySubscriber implements EntitySubscriberInterface<Entry> {
  listenTo() {
    return Entry
  }
  beforeInsert({ entity }: InsertEvent<Entry>) {
    entity.source = 'subscriber'
  }
}

describe.each([
  ['without a subscriber', [], 'api'],
  ['with a subscriber', [EntrySubscriber], 'subscriber'],
])('%s', (_, subscribers, source) => {
  let world: LiveWorld
  beforeAll(async () => {
    world = await openLiveWorld(
      { audit: { entity: Entry } },
      { entities: [Thing, Entry], source: { subscribers }, seed: async () => {}, columnOrder: 0 },
    )
  })
  afterAll(() => world.close())

  test('each change has an entry, which a live list of the log shows', async () => {
    const reader = await world.watch('entry/?fields=resource,record,action,principal,changes,source', 'ann')
    expect(await reader.take(1)).toEqual([['reset', []]])
    await world.request('POST thing/', { name: 'a' }, 'ann')
    const entry = { id: expect.any(String), resource: 'thing', record: '1', principal: 'ann', source }
    const created = { ...entry, action: 'CREATE', changes: { name: { to: 'a' } } }
    const [event] = await reader.take(1)
    expect(['created', 'reset']).toContain(event?.[0])
    expect([event?.[1]].flat()).toEqual([created])
    await world.request('PATCH thing/1/', { name: 'b' }, 'bob')
    const updated = { ...entry, action: 'UPDATE', principal: 'bob', changes: { name: { from: 'a', to: 'b' } } }
    const [next] = await reader.take(1)
    expect([next?.[1]].flat()).toContainEqual(updated)
    expect(await world.sql('SELECT COUNT("at") AS "n" FROM "entry"')).toEqual([{ n: expect.anything() }])
  })

  test('an array of 150 records has an entry for each', async () => {
    const names = Array.from({ length: 150 }, (_, index) => ({ name: `n${index}` }))
    expect((await world.request('POST thing/', names, 'ann')).status).toBe(201)
    const entries = await world.dataSource.getRepository(Entry).findBy({ action: 'CREATE', source })
    const named = entries.map(({ changes }) => (changes as { name: { to: string } }).name.to)
    expect(new Set(named)).toEqual(new Set(['a', ...names.map(({ name }) => name)]))
  })
})
