import {
  BeforeInsert,
  Column,
  CreateDateColumn,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type LiveWorld, openLiveWorld } from '../support/live-world'
import { isPostgres, isSqlite } from '../world/leg'

/** Entities of an audit log: their columns, their subscribers, and a live list of them (specification: Audit log). */

const teams: Readonly<Record<string, number>> = { ann: 1, bob: 2, root: 2 }

const auth = ({ context }: { readonly context: { get(name: string): string } }) => {
  const name = context.get('X-User')
  return { id: /^\d+$/.test(name) ? Number(name) : name, team: teams[name] ?? null }
}

@Entity()
class Team {
  @PrimaryColumn() id!: number
}

@Entity()
@Resource({ auth, bulk: true })
class Thing {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

/** With a preset of a member that the service sets. */
@Entity()
@Resource({ auth, preset: () => ({ record: 'forged' }) })
class Line {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) resource!: string
  @Column({ length: 40 }) record!: string
  @Column({ length: 10 }) action!: string
  @Column({ type: 'varchar', length: 40, nullable: true }) principal!: string | null
  @Column({ type: 'simple-json' }) changes!: object
}

const upperCase = { to: (value?: string) => value?.toUpperCase(), from: (value: string) => value }

/** With a generated key of text, a transformer, a default, and the type of JSON that TypeORM writes with a cast. */
@Entity()
@Resource({
  auth,
  preset: (me) => ({ team: (me as { team?: number }).team ?? null }),
  may: { delete: (me) => me.id === 'root' },
})
class Entry {
  @PrimaryGeneratedColumn('uuid') id!: string
  @Column({ length: 40 }) resource!: string
  @Column({ length: 40 }) record!: string
  @Column({ length: 10, transformer: upperCase }) action!: string
  @Column({ type: 'varchar', length: 40, nullable: true }) principal!: string | null
  @Column({ type: isPostgres ? 'jsonb' : 'simple-json' }) changes!: object
  @Column({ length: 10, default: 'api' }) source!: string
  @CreateDateColumn() at!: Date
  @ManyToOne(() => Team) team!: Relation<Team> | null
}

/** The entries as a subscriber has received them after their INSERT. */
const inserted: Entry[] = []

@EventSubscriber()
class EntrySubscriber implements EntitySubscriberInterface<Entry> {
  listenTo() {
    return Entry
  }
  beforeInsert({ entity }: InsertEvent<Entry>) {
    entity.source = 'subscriber'
  }
  afterInsert({ entity }: InsertEvent<Entry>) {
    inserted.push(entity)
  }
}

/** With a generated key of an integer, a method, and an initial value. */
@Entity()
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) resource!: string
  @Column({ length: 40 }) record!: string
  @Column({ length: 10 }) action!: string
  @Column({ type: 'varchar', length: 40, nullable: true }) principal!: string | null
  @Column({ type: 'simple-json' }) changes!: object
  @Column({ length: 10, default: 'database' }) origin: string = 'class'
  @BeforeInsert() upperCase() {
    this.origin = this.origin.toUpperCase()
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
      {
        entities: [Thing, Entry, Team],
        source: { subscribers },
        seed: async (dataSource) => void (await dataSource.getRepository(Team).insert([{ id: 1 }, { id: 2 }])),
        columnOrder: 0,
      },
    )
  })
  afterAll(() => world.close())

  test('each change has an entry, which a live list of the log shows', async () => {
    const reader = await world.watch('entry/?fields=resource,record,action,principal,changes,source,team_id', 'ann')
    expect(await reader.take(1)).toEqual([['reset', []]])
    await world.request('POST thing/', { name: 'a' }, 'ann')
    const entry = { id: expect.any(String), resource: 'thing', record: '1', principal: 'ann', source, team_id: 1 }
    const created = { ...entry, action: 'CREATE', changes: { name: { to: 'a' } } }
    const [event] = await reader.take(1)
    expect(['created', 'reset']).toContain(event?.[0])
    expect([event?.[1]].flat()).toEqual([created])
    await world.request('PATCH thing/1/', { name: 'b' }, 'bob')
    const updated = {
      ...entry,
      action: 'UPDATE',
      principal: 'bob',
      team_id: 2,
      changes: { name: { from: 'a', to: 'b' } },
    }
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

  test('a subscriber receives the generated values of each entry', async () => {
    const known = { at: expect.any(Date), source: 'subscriber', action: expect.any(String) }
    const stored = await world.dataSource.getRepository(Entry).find()
    const expected = stored.map(({ id }) => expect.objectContaining({ ...known, id }))
    expect(stored.length).toBeGreaterThan(150)
    if (subscribers.length > 0) expect(inserted).toHaveLength(stored.length)
    for (const entry of inserted) expect(expected).toContainEqual(entry)
  })

  test('nobody can write entries, except those whom "may" permits it', async () => {
    const entry = { resource: 'thing', record: '9', action: 'create', changes: {} }
    const [stored] = await world.dataSource.getRepository(Entry).find({ take: 1 })
    const path = `entry/${stored?.id}/`
    for (const [line, user, status] of [
      ['POST entry/', 'ann', 403],
      [`PATCH ${path}`, 'root', 403],
      [`PUT ${path}`, 'root', 403],
      [`DELETE ${path}`, 'ann', 403],
      [`DELETE ${path}`, 'root', 204],
    ] as const) {
      const body = line.startsWith('DELETE') ? undefined : entry
      expect([line, user, (await world.request(line, body, user)).status]).toEqual([line, user, status])
    }
  })
})

test('without "may", entries are read-only; a preset does not change what the service stores, and ids are stored as texts', async () => {
  const world = await openLiveWorld(
    { audit: { entity: Line } },
    { entities: [Thing, Line], seed: async () => {}, columnOrder: 0 },
  )
  try {
    await world.request('POST thing/', { name: 'a' }, 'ann')
    const entry = { resource: 'thing', record: '1', action: 'create', principal: 'ann', changes: { name: { to: 'a' } } }
    expect((await world.request('GET line/1/', undefined, 'ann')).json()).toEqual({ id: 1, ...entry })
    await world.request('PATCH thing/1/', { name: 'b' }, '7')
    expect((await world.request('GET line/?principal=7', undefined, 'ann')).json()).toMatchObject({
      objects: [{ id: 2, principal: '7' }],
    })
    for (const line of ['POST line/', 'PUT line/1/', 'PATCH line/1/']) {
      expect([line, (await world.request(line, entry, 'ann')).status]).toEqual([line, 405])
    }
    expect((await world.request('DELETE line/1/', undefined, 'ann')).status).toBe(405)
  } finally {
    await world.close()
  }
})

test('defaults of columns are stored, but no initial values of the class, and its methods are not called', async () => {
  const world = await openLiveWorld({ audit: { entity: Note } }, { entities: [Thing, Note], seed: async () => {} })
  try {
    expect((await world.request('POST thing/', [{ name: 'a' }, { name: 'b' }], 'ann')).status).toBe(201)
    const notes = await world.dataSource.getRepository(Note).find({ order: { id: 'ASC' } })
    const note = { origin: 'database', principal: 'ann' }
    expect(notes).toMatchObject([
      { ...note, record: '1' },
      { ...note, record: '2' },
    ])
  } finally {
    await world.close()
  }
})

if (!isSqlite) {
  const lock = isPostgres ? 'LOCK TABLE "note"' : 'LOCK TABLES `note` WRITE'
  test('a write whose entry waits for a lock ends after "statementTimeout", and is rolled back', async () => {
    const mount = { audit: { entity: Note }, statementTimeout: 400 }
    const world = await openLiveWorld(mount, { entities: [Thing, Note], seed: async () => {} })
    const runner = world.dataSource.createQueryRunner()
    try {
      if (isPostgres) await runner.startTransaction()
      await runner.query(lock)
      expect((await world.request('POST thing/', { name: 'a' }, 'ann')).status).toBe(503)
      await (isPostgres ? runner.rollbackTransaction() : runner.query('UNLOCK TABLES'))
      expect(await world.dataSource.getRepository(Thing).count()).toBe(0)
    } finally {
      await runner.release()
      await world.close()
    }
  })
}
