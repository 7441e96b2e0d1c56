import {
  AfterLoad,
  AfterUpdate,
  BeforeInsert,
  BeforeRemove,
  BeforeUpdate,
  ChildEntity,
  Column,
  DeleteDateColumn,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type RemoveEvent,
  type SoftRemoveEvent,
  TableInheritance,
  type UpdateEvent,
  VersionColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { sqlOf } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Author {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

/** Has several listeners. */
@Entity()
@Resource({ auth: permitAllAsUser1, exclude: ['secret'] })
class Article {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column({ default: '' }) slug!: string
  @Column({ type: 'varchar', nullable: true }) secret!: string | null
  @Column({ default: 0 }) edits!: number
  @VersionColumn() version!: number
  @ManyToOne(() => Author, { nullable: true }) author!: Author | null

  @BeforeInsert()
  makeSlug(): void {
    if (this.title === 'forbidden') throw new Error('canary: no such title')
    this.slug = `${this.title.toLowerCase()}-${this.author?.id ?? 'nobody'}`
    this.secret = `of ${this.title}`
  }

  @BeforeUpdate()
  async countEdits(): Promise<void> {
    await Promise.resolve()
    if (this.title === 'forbidden') throw new Error('canary: no such title')
    this.edits += 1
    this.secret = `${this.secret}!`
  }

  @BeforeRemove()
  keepFamous(): void {
    if (this.title === 'famous') throw Object.assign(new Error('famous ones stay'), { status: 403, expose: true })
  }
}

/** Has a listener that sets required columns. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Ticket {
  @PrimaryColumn({ length: 20 }) id!: string
  @Column() text!: string
  @Column() stamp!: string

  @BeforeInsert()
  fill(): void {
    this.id ??= `T${this.text.trim()}`
    this.stamp ??= 'filled'
  }
}

/** Has listeners that change values in place and set further properties. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Memo {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @Column({ type: 'simple-json' }) seen: { count: number } = { count: 0 }
  // What PostgreSQL's driver hands out is an object already.
  @Column({ type: 'json' }) marks: { count: number; views?: number } = { count: 0 }
  @Column({ default: '' }) trail!: string
  note = 'initial'
  @ManyToOne(() => Author, { nullable: true }) author!: Author | null
  loads = 0
  before = ''

  @BeforeUpdate()
  count(): void {
    this.seen.count += 1
    this.marks.count += 1
    this.note = 'changed'
  }

  @AfterUpdate()
  remember(): void {
    remembered.push([this.note, this.author?.id, this.loads, this.before])
  }

  @AfterLoad()
  load(): void {
    this.loads += 1
    this.marks.views = 1
    this.before = this.text
  }
}
const remembered: unknown[] = []

/** Has a subscriber. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Account {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @Column({ default: 0 }) balance!: number
  @DeleteDateColumn() closed!: Date | null
}

@Entity()
class Log {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

@EventSubscriber()
class AccountSubscriber implements EntitySubscriberInterface<Account> {
  listenTo(): typeof Account {
    return Account
  }

  async beforeInsert({ entity }: InsertEvent<Account>): Promise<void> {
    entity.name = entity.name.trim()
  }

  async afterInsert({ manager, entity }: InsertEvent<Account>): Promise<void> {
    await manager.insert(Log, { text: `insert ${entity.id} ${entity.name}` })
    await manager.update(Account, entity.id, { balance: 10 })
    if (entity.name === 'twin') await manager.query(sqlOf(`INSERT INTO "log" ("id", "text") VALUES (1, 'x')`))
    if (entity.name === 'slow') {
      await new Promise((wake) => setTimeout(wake, 30))
      await manager.insert(Log, { text: 'slow' })
    }
    if (entity.name === 'late') throw new Error('canary: too late')
  }

  async afterUpdate({ manager, entity, databaseEntity, updatedColumns }: UpdateEvent<Account>): Promise<void> {
    // The subscriber's own update, above, is an update of many rows to TypeORM, which does not call subscribers.
    if (databaseEntity === undefined) return
    const columns = updatedColumns.map(({ propertyName }) => propertyName).join()
    await manager.insert(Log, { text: `update ${columns} ${databaseEntity.balance} to ${entity?.['balance']}` })
    if (entity?.['balance'] === 13) throw new Error('canary: unlucky')
  }

  async beforeSoftRemove({ manager, entity }: SoftRemoveEvent<Account>): Promise<void> {
    await manager.insert(Log, { text: `close ${entity?.name}` })
  }

  async afterRemove({ entity }: RemoveEvent<Account>): Promise<void> {
    throw new Error(`${entity?.name} is not removed`)
  }
}

@EventSubscriber()
class HastySubscriber implements EntitySubscriberInterface<Account> {
  listenTo(): typeof Account {
    return Account
  }

  afterInsert({ entity }: InsertEvent<Account>): void {
    if (entity.name === 'slow') throw new Error('canary: at once')
  }
}

/** Has listeners that change the values after loading. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
@TableInheritance({ column: 'kind' })
class Shape {
  @PrimaryGeneratedColumn() id!: number
  @Column() kind!: string
  @Column() label!: string
  @Column({ default: 1 }) size!: number

  @AfterLoad()
  async upper(): Promise<void> {
    await Promise.resolve()
    this.label = this.label.toUpperCase()
    if (this instanceof Circle && this.radius !== null) this.size = this.radius * 2
  }
}

@ChildEntity()
@Resource({ auth: permitAllAsUser1 })
class Circle extends Shape {
  @Column({ type: 'int', nullable: true }) radius!: number | null
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Author, Article, Account, Log, Shape, Circle, Ticket, Memo],
    source: { subscribers: [AccountSubscriber, HastySubscriber] },
  })
  await post('author', { name: 'Ann' })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)
const logs = async (): Promise<readonly unknown[]> =>
  (await world.sql('SELECT "text" FROM "log" ORDER BY "id"')).map(({ text }) => text)
const faults = (): readonly unknown[] => (world.faults as unknown[]).splice(0)

test('a listener can change the inserted values, and receives relations', async () => {
  const made = await post('article', { title: 'One', author_id: 1 })
  expect([made.status, made.json()]).toEqual([
    201,
    { id: 1, title: 'One', slug: 'one-1', edits: 0, version: 1, author_id: 1 },
  ])
  expect((await get('article/1/')).json()).toEqual(made.json())
  expect(await world.sql('SELECT "secret" FROM "article"')).toEqual([{ secret: 'of One' }])
})

test('Required fields: a field that a listener sets is optional', async () => {
  const made = await post('ticket', { text: 'x' })
  expect([made.status, made.json()]).toEqual([201, { id: 'Tx', text: 'x', stamp: 'filled' }])
  for (const body of [{ id: 'U' }, {}]) {
    const { status, errors } = (await post('ticket', body)).json() as { status: number; errors: object[] }
    expect([status, errors]).toEqual([400, expect.arrayContaining([{ field: 'text', message: 'is required' }])])
  }
})

test('a listener can change the updated values', async () => {
  const changed = await put('article/1', { title: 'Two' })
  expect([changed.status, changed.json()]).toEqual([
    200,
    { id: 1, title: 'Two', slug: 'one-1', edits: 1, version: 2, author_id: 1 },
  ])
  expect(await world.sql('SELECT "secret" FROM "article"')).toEqual([{ secret: 'of One!' }])
  expect((await put('article/1', { author_id: null })).json()).toMatchObject({ author_id: null, edits: 2 })
  expect((await put('article/1', { author_id: 1 })).json()).toMatchObject({ author_id: 1, edits: 3 })
  expect((await put('article/1', { author_id: 9 })).status).toBe(400)
  expect((await put('article/1', { title: 'Two' })).json()).toMatchObject({ edits: 3 })
})

test('an error of a listener is a fault, or the HTTP error that it declares, and nothing is stored', async () => {
  const before = await world.sql('SELECT * FROM "article"')
  const made = await post('article', { title: 'forbidden' })
  expect([made.status, made.text]).toEqual([500, expect.not.stringContaining('canary')])
  expect((await put('article/1', { title: 'forbidden' })).status).toBe(500)
  expect(faults()).toMatchObject([{ message: 'canary: no such title' }, { message: 'canary: no such title' }])
  expect(await world.sql('SELECT * FROM "article"')).toEqual(before)
  await put('article/1', { title: 'famous' })
  const refused = await send(world.url, 'DELETE /api/article/1/')
  expect([refused.status, refused.text]).toEqual([403, 'famous ones stay'])
  faults()
  await put('article/1', { title: 'x' })
  expect((await send(world.url, 'DELETE /api/article/1/')).status).toBe(204)
})

test('a subscriber is called for every write, in its transaction, and its changes are in the response', async () => {
  const made = await post('account', { name: ' Ann ' })
  expect([made.status, made.json()]).toEqual([201, { id: 1, name: 'Ann', balance: 10, closed: null }])
  expect((await put('account/1', { balance: 12 })).json()).toMatchObject({ balance: 12 })
  expect((await send(world.url, 'DELETE /api/account/1/')).status).toBe(204)
  expect((await get('account/1/')).status).toBe(404)
  expect(await logs()).toEqual(['insert 1 Ann', 'update balance 10 to 12', 'close Ann'])
})

test('an error of a subscriber after the write rolls the write back', async () => {
  const before = await logs()
  expect((await post('account', { name: 'late' })).status).toBe(500)
  const { id } = (await post('account', { name: 'Bob' })).json() as { id: number }
  expect((await put(`account/${id}`, { balance: 13 })).status).toBe(500)
  expect(faults()).toHaveLength(2)
  expect((await get('account?name=late')).json()).toMatchObject({ objects: [] })
  const { objects } = (await get('account?name=Bob')).json() as { objects: { balance: number }[] }
  expect(objects).toMatchObject([{ balance: 10 }])
  expect((await logs()).length).toBe(before.length + 1)
})

test('the values that a listener sets after loading are shown in all responses', async () => {
  const made = await post('shape', { label: 'square' })
  expect([made.status, made.json()]).toEqual([201, { id: 1, kind: 'Shape', label: 'SQUARE', size: 1 }])
  expect((await post('circle', { label: 'round', radius: 4 })).json()).toMatchObject({ label: 'ROUND', size: 8 })
  expect((await get('shape/')).json()).toMatchObject({
    objects: [
      { id: 1, label: 'SQUARE', size: 1 },
      { id: 2, kind: 'Circle', label: 'ROUND', size: 8 },
    ],
  })
  expect((await put('circle/2', { label: 'ROUND' })).json()).toMatchObject({ label: 'ROUND' })
  expect((await put('circle/2', { radius: 5 })).json()).toMatchObject({ size: 10 })
  expect(await world.sql('SELECT "label", "size" FROM "shape" ORDER BY "id"')).toEqual([
    { label: 'square', size: 1 },
    { label: 'round', size: 1 },
  ])
})

test('a value that a listener changes in place is stored, and properties that it sets on the entity are kept', async () => {
  const { id } = (await post('memo', { text: 'a' })).json() as { id: number }
  const counted = { seen: { count: 1 }, marks: { count: 1, views: 1 } }
  const updated = await put(`memo/${id}`, { text: 'b', author_id: 1 })
  expect(updated.json()).toMatchObject(counted)
  expect(remembered).toEqual([['changed', 1, 1, 'a']])
  const read = await get(`memo/${id}/`)
  expect(read.json()).toMatchObject({ ...counted, text: 'b' })
  const same = await put(`memo/${id}`, { text: 'b' })
  const tags = [updated, read, same].map(({ headers }) => headers['etag'])
  expect(new Set(tags).size).toBe(1)
  expect(JSON.stringify(await world.sql('SELECT "marks" FROM "memo"'))).not.toContain('views')
})

test('a violated constraint of another table, to which a subscriber writes, is a fault', async () => {
  expect((await post('account', { name: 'twin' })).status).toBe(500)
  expect(faults()).toHaveLength(1)
  expect((await get('account?name=twin')).json()).toMatchObject({ objects: [] })
})

test('when one subscriber throws, other subscribers of parallel requests are awaited, and their writes are unaffected', async () => {
  const names = ['slow', 'fine1', 'slow', 'fine2']
  const replies = await Promise.all(names.map((name) => post('account', { name })))
  expect(replies.map(({ status }) => status)).toEqual([500, 201, 500, 201])
  expect(faults()).toHaveLength(2)
  expect(await logs()).not.toContain('slow')
})

test('other requests do not see values that are rolled back', async () => {
  const { id } = (await post('account', { name: 'seen', balance: 1 })).json() as { id: number }
  const [failed, second, read] = await Promise.all([
    put(`account/${id}`, { balance: 13 }),
    put(`account/${id}`, { balance: 14 }),
    get(`account/${id}/`),
  ])
  expect([failed.status, second.status, read.status]).toEqual([500, 200, 200])
  expect((read.json() as { balance: number }).balance).not.toBe(13)
  expect((await get(`account/${id}/`)).json()).toMatchObject({ balance: 14 })
  expect(faults()).toHaveLength(1)
})

test('of parallel writes to one record none is lost', async () => {
  const { id } = (await post('article', { title: 'Busy' })).json() as { id: number }
  const titles = Array.from({ length: 10 }, (_, index) => `t${index}`)
  const replies = await Promise.all(titles.map((title) => put(`article/${id}`, { title })))
  expect(replies.map(({ status }) => status)).toEqual(titles.map(() => 200))
  expect((await get(`article/${id}/`)).json()).toMatchObject({ edits: 10, version: 11 })
})

test('twenty parallel writes all call the subscriber, and are all stored', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`)
  const replies = await Promise.all(names.map((name) => post('account', { name })))
  expect(replies.map(({ status }) => status)).toEqual(names.map(() => 201))
  expect((await get('account?name__like=n%25&limit=100')).json()).toMatchObject({ objects: { length: 20 } })
})

test('the mount reports which resources create entities', () => {
  const slower = Object.fromEntries(world.mounted.resources.map(({ name, entities }) => [name, entities]))
  expect(slower).toMatchObject({
    author: undefined,
    article: ['write'],
    memo: ['load', 'write'],
    account: expect.arrayContaining(['write']),
  })
})
