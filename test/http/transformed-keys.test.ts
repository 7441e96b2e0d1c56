import {
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  PrimaryColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { byHeader, openLiveWorld } from '../support/live-world'

/** Keys that the database generates, and that a transformer shows as other numbers: 1 is shown as 1001. */
const generated: Parameters<typeof PrimaryColumn>[1] & object = {
  type: 'int',
  generated: 'increment',
  transformer: {
    to: (shown: unknown) => (typeof shown === 'number' ? shown - 1000 : shown),
    from: (stored: unknown) => (typeof stored === 'number' ? stored + 1000 : stored),
  },
}

@Entity()
@Resource({ auth: byHeader, bulk: true })
class Parcel {
  @PrimaryColumn(generated) id!: number
  @Column({ length: 20 }) name!: string
}

const inserted: number[] = []

@Entity()
@Resource({ auth: byHeader })
class Entry {
  @PrimaryColumn(generated) id!: number
  @Column({ length: 40 }) resource!: string
  @Column({ length: 40 }) record!: string
  @Column({ length: 10 }) action!: string
  @Column({ type: 'varchar', length: 40, nullable: true }) principal!: string | null
  @Column({ type: 'simple-json' }) changes!: object
}

@EventSubscriber()
class EntrySubscriber implements EntitySubscriberInterface<Entry> {
  listenTo() {
    return Entry
  }
  afterInsert({ entity }: InsertEvent<Entry>) {
    inserted.push(entity.id)
  }
}

test('responses, arrays and entries of the audit log have the keys as records show them', async () => {
  const world = await openLiveWorld(
    { audit: { entity: Entry } },
    { entities: [Parcel, Entry], source: { subscribers: [EntrySubscriber] }, seed: async () => {} },
  )
  try {
    const replies = [
      await world.request('POST parcel/', { name: 'a' }),
      await world.request('POST parcel/', [{ name: 'b' }, { name: 'c' }]),
      await world.request('GET parcel/1003/'),
      await world.request('GET entry/?fields=id,record'),
    ]
    expect(replies.map((reply) => [reply.status, reply.json()])).toEqual([
      [201, { id: 1001, name: 'a' }],
      [
        201,
        expect.objectContaining({ objects: [{ id: 1002 }, { id: 1003 }].map((one) => expect.objectContaining(one)) }),
      ],
      [200, { id: 1003, name: 'c' }],
      [200, expect.objectContaining({ objects: [1001, 1002, 1003].map((id) => ({ id, record: String(id) })) })],
    ])
    expect(inserted).toEqual([1001, 1002, 1003])
    expect(world.faults).toEqual([])
  } finally {
    await world.close()
  }
})
