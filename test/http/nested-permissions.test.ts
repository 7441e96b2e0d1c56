import { Validate, ValidatorConstraint, type ValidatorConstraintInterface } from 'class-validator'
import {
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { type Principal, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { Gate } from '../support/gate'
import { openWorld, type World } from '../world/world'

/** Nested writes are subject to the rules of the related resources: access rules, scopes, permissions, fields, owners. */

interface Member extends Principal {
  readonly id: number
  readonly tenant: number
  readonly manager: boolean
}

const people: Readonly<Record<string, Member>> = {
  ann: { id: 1, tenant: 1, manager: false },
  max: { id: 2, tenant: 1, manager: true },
  eve: { id: 3, tenant: 2, manager: true },
}

/** The methods of items that the rule refuses to a user, which the tests set. */
const refused = new Set<string>()

const byHeader: Rule = ({ context }) => people[context.get('x-user')] ?? null
const ofItems: Rule = ({ context, method }) => (refused.has(method) ? null : (people[context.get('x-user')] ?? null))
const asMember = (me: Principal): Member => me as Member
const isManager = (me: Principal): boolean => asMember(me).manager === true
const inDraft = { order__status: 'draft' }

@Entity({ name: 'orders' })
@Resource({
  auth: byHeader,
  scope: (me) => ({ tenant: asMember(me).tenant }),
  fields: { labels: { write: isManager }, extras: { read: isManager } },
  nested: ['items', 'labels', 'extras'],
})
class Order {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, default: 'draft' }) status!: string
  @Column({ type: 'varchar', length: 20, nullable: true, unique: true }) number!: string | null
  @Column('int') tenant!: number
  @OneToMany(
    () => Item,
    (item) => item.order,
  )
  items!: Relation<Item>[]
  @OneToMany(
    () => Extra,
    (extra) => extra.order,
  )
  extras!: Relation<Extra>[]
  @ManyToMany(() => Label)
  @JoinTable()
  labels!: Relation<Label>[]
}

@Entity()
@Resource({
  auth: ofItems,
  scope: (me) => ({ order__tenant: asMember(me).tenant, ...(isManager(me) ? {} : { internal: false }) }),
  may: { create: inDraft, update: inDraft, delete: (me) => isManager(me) && inDraft },
  fields: { price: { read: isManager }, code: { write: isManager } },
  preset: () => ({ source: 'preset' }),
})
class Item {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
  @Column({ default: false }) internal!: boolean
  @Column({ type: 'int', default: 7 }) price!: number
  @Column({ length: 20, default: 'none' }) code!: string
  @Column({ length: 20, default: 'body' }) source!: string
  @ManyToOne(
    () => Order,
    (order) => order.items,
    { nullable: false },
  )
  order!: Relation<Order>
}

@Entity()
@Resource({ auth: byHeader, fields: { order: { write: isManager } } })
class Extra {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Order,
    (order) => order.extras,
    { nullable: false },
  )
  order!: Relation<Order>
}

@Entity()
@Resource({ auth: byHeader, scope: (me) => ({ tenant: asMember(me).tenant }) })
class Label {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') tenant!: number
}

/** A team is visible to its members. */
@Entity()
@Resource({ auth: byHeader, scope: (me) => ({ members__person: me.id }), nested: ['members'] })
class Team {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @OneToMany(
    () => Membership,
    (membership) => membership.team,
  )
  members!: Relation<Membership>[]
}

@Entity()
@Resource({ auth: byHeader, scope: { through: 'team' } })
class Membership {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') person!: number
  @ManyToOne(
    () => Team,
    (team) => team.members,
    { nullable: false },
  )
  team!: Relation<Team>
}

@Entity()
@Resource({ auth: byHeader, nested: ['projects'] })
class Company {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => Project,
    (project) => project.company,
  )
  projects!: Relation<Project>[]
}

/** A new project belongs to the company of its creator. */
@Entity()
@Resource({ auth: byHeader, preset: (me) => ({ company: asMember(me).tenant }) })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @ManyToOne(
    () => Company,
    (company) => company.projects,
    { nullable: false },
  )
  company!: Relation<Company>
}

@Entity()
@Resource({ auth: byHeader, nested: ['folders'] })
class Cabinet {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => Folder,
    (folder) => folder.cabinet,
  )
  folders!: Relation<Folder>[]
}

/** Visible with the mark `shown`. After a change, it must have an open page. */
@Entity()
@Resource({
  auth: byHeader,
  scope: () => ({ marks__name: 'shown' }),
  may: { update: { before: true, after: { pages__open: true } } },
  nested: ['marks', 'pages'],
})
class Folder {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Cabinet,
    (cabinet) => cabinet.folders,
  )
  cabinet!: Relation<Cabinet>
  @ManyToMany(() => Mark)
  @JoinTable()
  marks!: Relation<Mark>[]
  @OneToMany(
    () => Page,
    (page) => page.folder,
  )
  pages!: Relation<Page>[]
}

@Entity()
@Resource({ auth: byHeader })
class Mark {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

@Entity()
@Resource({ auth: byHeader })
class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column() open!: boolean
  @ManyToOne(
    () => Folder,
    (folder) => folder.pages,
    { nullable: false },
  )
  folder!: Relation<Folder>
}

@Entity()
@Resource({ auth: byHeader, nested: ['chapters'] })
class Report {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => Chapter,
    (chapter) => chapter.report,
  )
  chapters!: Relation<Chapter>[]
}

/** Only open chapters may be changed, and only by their owner. */
@Entity()
@Resource({
  auth: byHeader,
  may: { update: { state: 'open' } },
  ownerField: { field: 'author', is: (me) => me.id },
  nested: ['figures', 'labels'],
})
class Chapter {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) state!: string
  @ManyToOne(() => Author, { nullable: false }) author!: Relation<Author>
  @ManyToOne(
    () => Report,
    (report) => report.chapters,
    { nullable: false },
  )
  report!: Relation<Report>
  @OneToMany(
    () => Figure,
    (figure) => figure.chapter,
  )
  figures!: Relation<Figure>[]
  @ManyToMany(() => Label)
  @JoinTable()
  labels!: Relation<Label>[]
}

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
@Resource({ auth: byHeader, nested: ['labels'] })
class Figure {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) @Validate(Waits) text!: string
  @ManyToOne(
    () => Chapter,
    (chapter) => chapter.figures,
    { nullable: false },
  )
  chapter!: Relation<Chapter>
  @ManyToMany(() => Label)
  @JoinTable()
  labels!: Relation<Label>[]
}

@Entity()
@Resource({ auth: byHeader, nested: ['notes'] })
class Board {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => Note,
    (note) => note.board,
  )
  notes!: Relation<Note>[]
}

@Entity()
@Resource({ auth: byHeader, ownerField: { field: 'author', is: (me) => me.id } })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
  @ManyToOne(() => Author, { nullable: false }) author!: Relation<Author>
  @ManyToOne(
    () => Board,
    (board) => board.notes,
    { nullable: false },
  )
  board!: Relation<Board>
}

@Entity()
class Author {
  @PrimaryGeneratedColumn() id!: number
}

/** Its rule returns another user than that of the boards of the topic. */
@Entity()
@Resource({ auth: () => ({ id: 9 }), nested: ['replies'] })
class Topic {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => Answer,
    (answer) => answer.topic,
  )
  replies!: Relation<Answer>[]
}

@Entity()
@Resource({ auth: () => ({ id: 8 }) })
class Answer {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Topic,
    (topic) => topic.replies,
  )
  topic!: Relation<Topic>
}

let world: World
beforeAll(async () => {
  const entities = [
    Order,
    Item,
    Extra,
    Label,
    Team,
    Membership,
    Company,
    Project,
    Cabinet,
    Folder,
    Mark,
    Page,
    Report,
    Chapter,
    Figure,
    Board,
    Note,
    Author,
    Topic,
    Answer,
  ]
  world = await openWorld({ entities })
  await world.dataSource.getRepository(Label).insert([{ tenant: 1 }, { tenant: 1 }, { tenant: 2 }])
  await world.dataSource.getRepository(Mark).insert([{ name: 'shown' }, { name: 'other' }])
  // One by one: TypeORM inserts one row for several without values on PostgreSQL.
  for (let count = 0; count < 3; count++) await world.dataSource.getRepository(Author).insert({})
  for (let count = 0; count < 2; count++) await world.dataSource.getRepository(Company).insert({})
})
afterEach(() => refused.clear())
afterAll(() => world.close())

const as = (user: string, line: string, body?: unknown): Promise<Reply> =>
  send(world.url, line.replace(' ', ' /api/'), { body, headers: { 'x-user': user } })

/** Inserts an order with two items, of which the second is internal. */
async function insertOrder(tenant = 1, status = 'draft'): Promise<{ id: number; item: number; internal: number }> {
  const manager = world.dataSource.manager
  const order = await manager.save(manager.create(Order, { tenant, status }))
  const item = await manager.save(manager.create(Item, { text: 'shown', order }))
  const internal = await manager.save(manager.create(Item, { text: 'internal', internal: true, order }))
  return { id: order.id, item: item.id, internal: internal.id }
}

const itemsOf = async (id: number): Promise<readonly string[]> => {
  const items = await world.dataSource.getRepository(Item).find({ where: { order: { id } }, order: { id: 'ASC' } })
  return items.map(({ text }) => text)
}

const detailOf = (reply: Reply): string => (reply.json() as { readonly detail: string }).detail
const fieldsOf = (reply: Reply): readonly string[] =>
  (reply.json() as { readonly errors?: readonly { field: string }[] }).errors?.map(({ field }) => field) ?? []

describe('the access rule of the related resource', () => {
  test.each<[string, string, (ids: { item: number }) => object, number]>([
    ['POST', 'PATCH', () => ({ items: [{ text: 'n' }] }), 401],
    ['POST', 'PATCH', ({ item }) => ({ items: [{ id: item, text: 'n' }] }), 200],
    ['PATCH', 'PATCH', ({ item }) => ({ items: [{ id: item, text: 'n' }] }), 401],
    ['PATCH', 'PATCH', () => ({ items: [{ text: 'n' }] }), 200],
    ['PUT', 'PUT', ({ item }) => ({ items: [{ id: item }] }), 401],
    ['DELETE', 'PUT', () => ({ items: [] }), 401],
    ['DELETE', 'PATCH', () => ({ items: [] }), 200],
  ])('refuses %s: a %s of its parent', async (method, parentMethod, bodyOf, status) => {
    const { id, item, internal } = await insertOrder()
    refused.add(method)
    const body = bodyOf({ item })
    const before = await itemsOf(id)
    expect((await as('max', `${parentMethod} order/${id}/`, body)).status).toBe(status)
    if (status === 401) expect(await itemsOf(id)).toEqual(before)
    expect(internal).toBeGreaterThan(0)
  })

  test('a rule that refuses DELETE only matters if a record would be deleted', async () => {
    const { id, item, internal } = await insertOrder()
    refused.add('DELETE')
    const items = [{ id: item, text: 'n' }, { id: internal }]
    expect((await as('max', `PUT order/${id}/`, { items })).status).toBe(200)
  })

  test.each<[string, (ids: { item: number }) => object, number]>([
    ['PATCH', ({ item }) => ({ id: item, text: 'n' }), 401],
    ['PATCH', () => ({ text: 'n' }), 200],
    ['POST', () => ({ text: 'n' }), 401],
    ['POST', ({ item }) => ({ id: item, text: 'n' }), 200],
  ])('refuses %s: an upsert of its parent', async (method, itemOf, status) => {
    const { id, item } = await insertOrder()
    const number = `n${id}`
    await world.dataSource.getRepository(Order).update(id, { number })
    refused.add(method)
    const before = await itemsOf(id)
    const reply = await as('max', 'POST order/?on_conflict=number', { number, items: [itemOf({ item })] })
    expect(reply.status).toBe(status)
    if (status === 401) expect(await itemsOf(id)).toEqual(before)
  })

  test('applies to the POST of the parent', async () => {
    refused.add('POST')
    const reply = await as('max', 'POST order/', { items: [{ text: 'refused' }] })
    expect([reply.status, await world.sql('SELECT 1 FROM "item" WHERE "text" = \'refused\'')]).toEqual([401, []])
  })

  test('must return the same user as that of the parent', async () => {
    expect((await as('max', 'POST topic/', { replies: [{}] })).status).toBe(500)
    expect(String(world.faults.at(-1))).toContain('the access rules of topic and answer return different users')
    expect((await as('max', 'POST topic/', {})).status).toBe(201)
  })
})

describe('row scopes', () => {
  test('records that the principal cannot see stay as they are', async () => {
    const { id, item } = await insertOrder()
    const items = [{ id: item, text: 'changed' }, { text: 'new' }]
    expect((await as('ann', `PUT order/${id}/`, { items })).status).toBe(200)
    expect(await itemsOf(id)).toEqual(['changed', 'internal', 'new'])
  })

  test('an id of an invisible record, of another parent and of no record have the same response', async () => {
    const [{ id, internal }, other, foreign] = [await insertOrder(), await insertOrder(), await insertOrder(2)]
    const replies: string[] = []
    for (const one of [internal, other.item, foreign.item, 99999]) {
      const reply = await as('ann', `PATCH order/${id}/`, { items: [{ id: one, text: 'x' }] })
      expect([reply.status, fieldsOf(reply)]).toEqual([400, ['items[0].id']])
      replies.push(reply.text)
    }
    expect(new Set(replies).size).toBe(1)
  })

  test('a parent that the principal cannot see is 404', async () => {
    const { id } = await insertOrder(2)
    expect((await as('ann', `PUT order/${id}/`, { items: [] })).status).toBe(404)
  })

  test('a record cannot be moved out of the scope, or to another parent', async () => {
    const [{ id, item }, foreign] = [await insertOrder(), await insertOrder(2)]
    const moved = await as('max', `PATCH order/${id}/`, { items: [{ id: item, order_id: foreign.id }] })
    expect([moved.status, fieldsOf(moved)]).toEqual([400, ['items[0].order_id']])
    const hidden = await as('ann', `PATCH order/${id}/`, { items: [{ id: item, internal: true }, { text: 'n' }] })
    expect([hidden.status, fieldsOf(hidden)]).toEqual([403, ['items[0]']])
    expect(await itemsOf(id)).toEqual(['shown', 'internal'])
  })

  test('a parent is checked when its related records are written', async () => {
    const own = await as('ann', 'POST team/?include=members', { name: 'own', members: [{ person: 1 }, { person: 2 }] })
    expect([own.status, own.json()]).toEqual([201, expect.objectContaining({ name: 'own' })])
    const other = await as('ann', 'POST team/', { name: 'other', members: [{ person: 2 }] })
    expect([other.status, await world.sql('SELECT "name" FROM "team"')]).toEqual([403, [{ name: 'own' }]])
    const { id } = own.json() as { readonly id: number }
    expect((await as('ann', `PUT team/${id}/`, { members: [{ person: 2 }] })).status).toBe(403)
    expect((await as('ann', `PUT team/${id}/`, { members: [{ person: 1 }] })).status).toBe(200)
  })
})

describe('a record of which only links or related records change is checked when everything is written', () => {
  /** Inserts a folder with the mark `shown` and an open page. */
  async function insertFolder(): Promise<{ readonly id: number; readonly cabinet: number; readonly page: number }> {
    const { manager } = world.dataSource
    const cabinet = await manager.save(manager.create(Cabinet, {}))
    const folder = await manager.save(manager.create(Folder, { cabinet, marks: [{ id: 1 }] }))
    const page = await manager.save(manager.create(Page, { folder, open: true }))
    return { id: folder.id, cabinet: cabinet.id, page: page.id }
  }

  test.each<[string, string, (page: number) => object, number]>([
    ['a link that the scope does not require', 'PATCH', () => ({ mark_ids: [1, 2] }), 200],
    ['not the link that the scope requires', 'PATCH', () => ({ mark_ids: [2] }), 403],
    ['a closed page', 'PATCH', (page) => ({ pages: [{ id: page, open: false }] }), 403],
    ['no page', 'PUT', () => ({ pages: [] }), 403],
    ['another open page', 'PUT', () => ({ pages: [{ open: true }] }), 200],
    ['the same page', 'PUT', (page) => ({ pages: [{ id: page, open: true }] }), 200],
  ])('%s', async (_, method, bodyOf, status) => {
    for (const parent of ['folder', 'cabinet']) {
      const { id, cabinet, page } = await insertFolder()
      const body = bodyOf(page)
      const reply =
        parent === 'folder'
          ? await as('ann', `${method} folder/${id}/`, body)
          : await as('ann', `${method} cabinet/${cabinet}/`, { folders: [{ id, ...body }] })
      expect([parent, reply.status]).toEqual([parent, status])
      const where = { id, marks: { id: 1 }, pages: { id: page, open: true } }
      if (status === 403) expect(await world.dataSource.getRepository(Folder).countBy(where)).toBe(1)
    }
  })

  test('a related record that is sent back unchanged is not checked', async () => {
    const { id, cabinet, page } = await insertFolder()
    await world.sql(`DELETE FROM "page" WHERE "id" = ${page}`)
    const write = (folder: object): Promise<Reply> =>
      as('ann', `PUT cabinet/${cabinet}/`, { folders: [{ id, ...folder }] })
    expect((await write({ mark_ids: [1], pages: [] })).status).toBe(200)
    const changed = await write({ mark_ids: [1, 2] })
    expect([changed.status, fieldsOf(changed)]).toEqual([403, ['folders[0]']])
  })
})

describe('permissions', () => {
  test.each<[string, string, (ids: { item: number; internal: number }) => object, number]>([
    ['a new record', 'PATCH', () => ({ items: [{ text: 'n' }] }), 403],
    ['a changed record', 'PATCH', ({ item }) => ({ items: [{ id: item, text: 'n' }] }), 403],
    ['a deleted record', 'PUT', () => ({ items: [] }), 403],
    [
      'records as they were read',
      'PUT',
      ({ item, internal }) => ({ items: [{ id: item, text: 'shown' }, { id: internal }] }),
      200,
    ],
  ])('a frozen order: %s', async (_, method, bodyOf, status) => {
    const { id, item, internal } = await insertOrder(1, 'sent')
    const reply = await as('max', `${method} order/${id}/`, bodyOf({ item, internal }))
    expect([reply.status, await itemsOf(id)]).toEqual([status, ['shown', 'internal']])
  })

  test.each<[string, string, object, object, number]>([
    ['sent with a changed item', 'draft', { status: 'sent' }, { text: 'n' }, 403],
    ['sent with an unchanged item', 'draft', { status: 'sent' }, { text: 'shown' }, 200],
    ['opened with a changed item', 'sent', { status: 'draft' }, { text: 'n' }, 403],
    ['that stays a draft', 'draft', { status: 'draft' }, { text: 'n' }, 200],
  ])('the order before and after the whole request counts: %s', async (_, status, order, change, expected) => {
    const { id, item } = await insertOrder(1, status)
    const reply = await as('max', `PATCH order/${id}/`, { ...order, items: [{ id: item, ...change }] })
    const [stored] = await world.sql(`SELECT "status" FROM "orders" WHERE "id" = ${id}`)
    expect([reply.status, stored?.['status']]).toEqual([expected, expected === 200 ? Object.values(order)[0] : status])
  })

  test('an order that is opened may get new items', async () => {
    const { id } = await insertOrder(1, 'sent')
    expect((await as('max', `PATCH order/${id}/`, { status: 'draft', items: [{ text: 'n' }] })).status).toBe(200)
  })

  test('a visible record that may not be deleted is 403, and nothing is written', async () => {
    const { id, item } = await insertOrder()
    const reply = await as('ann', `PUT order/${id}/`, { status: 'no', items: [{ text: 'n' }] })
    expect([reply.status, detailOf(reply)]).toEqual([403, `items without the id ${item}: you may not delete this item`])
    expect(await itemsOf(id)).toEqual(['shown', 'internal'])
    expect(await world.sql(`SELECT "status" FROM "orders" WHERE "id" = ${id}`)).toEqual([{ status: 'draft' }])
  })

  test('a POST of a parent in the wrong state', async () => {
    const reply = await as('max', 'POST order/', { tenant: 1, status: 'frozen', items: [{ text: 'a' }, { text: 'b' }] })
    expect([reply.status, fieldsOf(reply)]).toEqual([403, ['items[0]', 'items[1]']])
    expect(await world.sql(`SELECT 1 FROM "orders" WHERE "status" = 'frozen'`)).toEqual([])
  })
})

describe('a related record of which only links or inner records change', () => {
  interface Ids {
    readonly id: number
    readonly chapter: number
    readonly figure: number
  }

  /** Inserts a report with a chapter of ann, which has a figure. The chapter and the figure have the first label. */
  async function insertReport(state: string): Promise<Ids> {
    const { manager } = world.dataSource
    const labels = [{ id: 1 }]
    const report = await manager.save(manager.create(Report, {}))
    const chapter = await manager.save(manager.create(Chapter, { state, author: { id: 1 }, report, labels }))
    const figure = await manager.save(manager.create(Figure, { text: 'old', chapter, labels }))
    return { id: report.id, chapter: chapter.id, figure: figure.id }
  }

  /** The labels of the chapter, and its figures with their labels: `1 old#1`. */
  async function contents(id: number): Promise<string> {
    const chapter = await world.dataSource.getRepository(Chapter).findOneOrFail({
      where: { id },
      relations: { labels: true, figures: { labels: true } },
      order: { figures: { id: 'ASC' } },
    })
    const idsOf = (labels: readonly Label[]): string => labels.map((label) => label.id).join('+')
    return [idsOf(chapter.labels), ...chapter.figures.map(({ text, labels }) => `${text}#${idsOf(labels)}`)].join(' ')
  }

  type Case = readonly [string, string, (ids: Ids) => object, string]
  const changes: readonly Case[] = [
    ['other links', 'PATCH', () => ({ label_ids: [2] }), '2 old#1'],
    ['no links', 'PATCH', () => ({ label_ids: [] }), ' old#1'],
    ['a new inner record', 'PATCH', () => ({ figures: [{ text: 'new' }] }), '1 old#1 new#'],
    ['a changed inner record', 'PATCH', ({ figure }) => ({ figures: [{ id: figure, text: 'new' }] }), '1 new#1'],
    ['links of an inner record', 'PATCH', ({ figure }) => ({ figures: [{ id: figure, label_ids: [2] }] }), '1 old#2'],
    ['no inner records', 'PUT', () => ({ figures: [] }), '1'],
  ]
  const same: readonly Case[] = [
    ['the same links', 'PUT', () => ({ label_ids: [1] }), '1 old#1'],
    ['no new inner records', 'PATCH', () => ({ figures: [] }), '1 old#1'],
    ['the same inner record', 'PUT', ({ figure }) => ({ figures: [{ id: figure, text: 'old' }] }), '1 old#1'],
    ['its same links', 'PUT', ({ figure }) => ({ figures: [{ id: figure, label_ids: [1] }] }), '1 old#1'],
  ]
  const refusals = [
    ['ann', 'closed', /^chapters\[0]: you may not change this chapter$/],
    ['max', 'open', /^chapters\[0]: only the owner may change or delete this chapter$/],
  ] as const

  const write = (user: string, method: string, ids: Ids, body: object): Promise<Reply> =>
    as(user, `${method} report/${ids.id}/`, { chapters: [{ id: ids.chapter, ...body }] })

  test.each(changes)(
    '%s: the permission and the owner are those of a changed record',
    async (_, method, bodyOf, result) => {
      for (const [user, state, message] of refusals) {
        const ids = await insertReport(state)
        const reply = await write(user, method, ids, bodyOf(ids))
        expect([reply.status, await contents(ids.chapter)]).toEqual([403, '1 old#1'])
        expect(detailOf(reply)).toMatch(message)
      }
      const ids = await insertReport('open')
      expect((await write('ann', method, ids, bodyOf(ids))).status).toBe(200)
      expect(await contents(ids.chapter)).toBe(result)
    },
  )

  test.each(same)('%s: no permission is needed', async (_, method, bodyOf, result) => {
    for (const [user, state] of refusals) {
      const ids = await insertReport(state)
      expect((await write(user, method, ids, bodyOf(ids))).status).toBe(200)
      expect(await contents(ids.chapter)).toBe(result)
    }
  })

  test.each<[string, string, object, string]>([
    ['closes it', `UPDATE "chapter" SET "state" = 'closed' WHERE "id" =`, { label_ids: [2] }, '1 old#1'],
    ['gives it to another owner', 'UPDATE "chapter" SET "authorId" = 2 WHERE "id" =', { label_ids: [2] }, '1 old#1'],
    ['removes its links', 'DELETE FROM "chapter_labels_label" WHERE "chapterId" =', { label_ids: [1] }, ' old#1'],
  ])('another request %s after it was read', async (_, statement, body, result) => {
    // With the same links, the chapter is unchanged until they are removed.
    const ids = await insertReport(result === ' old#1' ? 'closed' : 'open')
    const waits = gate.close()
    // The validator of the second figure makes the request wait.
    const chapters = [
      { id: ids.chapter, ...body },
      { state: 'open', figures: [{ text: 'new' }] },
    ]
    const reply = as('ann', `PATCH report/${ids.id}/`, { chapters })
    await waits
    await world.sql(`${statement} ${ids.chapter}`)
    gate.open()
    expect([(await reply).status, await contents(ids.chapter)]).toEqual([403, result])
  })
})

describe('links', () => {
  test('a record that the principal cannot see is like a missing one', async () => {
    const { id } = await insertOrder()
    const [foreign, missing] = [
      await as('max', `PATCH order/${id}/`, { label_ids: [1, 3] }),
      await as('max', `PATCH order/${id}/`, { label_ids: [1, 99] }),
    ]
    expect([foreign.status, fieldsOf(foreign), foreign.text]).toEqual([400, ['label_ids[1]'], missing.text])
  })

  test.each(['PATCH', 'PUT'])('%s without keys removes the visible links only', async (method) => {
    const { id } = await insertOrder()
    await world.dataSource.createQueryBuilder().relation(Order, 'labels').of(id).add([1, 3])
    expect((await as('max', `${method} order/${id}/`, { label_ids: [] })).status).toBe(200)
    const where = { id }
    const { labels } = await world.dataSource.getRepository(Order).findOneOrFail({ where, relations: { labels: true } })
    expect(labels.map((label) => label.id)).toEqual([3])
  })

  test('links to records that the principal cannot see stay as they are', async () => {
    const { id } = await insertOrder()
    await world.dataSource.createQueryBuilder().relation(Order, 'labels').of(id).add([1, 3])
    expect((await as('max', `PUT order/${id}/`, { label_ids: [2] })).status).toBe(200)
    const { labels } = await world.dataSource
      .getRepository(Order)
      .findOneOrFail({ where: { id }, relations: { labels: true } })
    expect(labels.map((label) => label.id).toSorted()).toEqual([2, 3])
  })
})

describe('field permissions', () => {
  test('fields of related records: hidden ones do not exist, others are read-only', async () => {
    const { id, item } = await insertOrder()
    const reply = await as('ann', `PATCH order/${id}/`, {
      items: [
        { text: 'n', code: 'x' },
        { id: item, code: 'x' },
        { text: 'n', price: 1 },
      ],
    })
    expect([reply.status, fieldsOf(reply)]).toEqual([400, ['items[0].code', 'items[1].code', 'items[2].price']])
    const allowed = await as('max', `PATCH order/${id}/`, { items: [{ text: 'n', code: 'x', price: 1 }] })
    expect([allowed.status, await itemsOf(id)]).toEqual([200, ['shown', 'internal', 'n']])
  })

  test('of a relation', async () => {
    const { id } = await insertOrder()
    for (const [name, value] of [
      ['label_ids', [1]],
      ['extras', []],
    ] as const) {
      const reply = await as('ann', `PATCH order/${id}/`, { [name]: value })
      expect([reply.status, fieldsOf(reply)]).toEqual([400, [name]])
      expect((await as('max', `PATCH order/${id}/`, { [name]: value })).status).toBe(200)
    }
  })
})

describe('values that the application sets', () => {
  test('presets', async () => {
    const { id } = await insertOrder()
    await as('max', `PATCH order/${id}/`, { items: [{ text: 'with', source: 'body' }] })
    expect(await world.sql(`SELECT "source" FROM "item" WHERE "text" = 'with'`)).toEqual([{ source: 'preset' }])
  })

  test.each<[string, string, object, number]>([
    ['the company of the preset', 'PATCH company/1/', { title: 'own' }, 200],
    ['the same company in the body', 'PATCH company/1/', { title: 'own', company_id: 1 }, 200],
    ['another company', 'PATCH company/2/', { title: 'other' }, 403],
    ['another company, which the body names', 'PUT company/2/', { title: 'other', company_id: 2 }, 403],
    ['a new company', 'POST company/', { title: 'other' }, 403],
  ])('a preset of the foreign key to the parent: %s', async (_, line, project, status) => {
    const reply = await as('ann', line, { projects: [project] })
    expect([reply.status, fieldsOf(reply)]).toEqual([status, status === 403 ? ['projects[0]'] : []])
    expect(await world.sql(`SELECT 1 FROM "project" WHERE "title" = 'other' OR "companyId" <> 1`)).toEqual([])
  })

  test('a preset does not restrict the records that the parent has already', async () => {
    const { manager } = world.dataSource
    const { id } = await manager.save(manager.create(Project, { title: 'old', company: { id: 2 } }))
    const statuses = [
      (await as('ann', 'PATCH company/2/', { projects: [{ id, title: 'new' }] })).status,
      (await as('ann', 'PUT company/2/', { projects: [] })).status,
    ]
    expect(statuses).toEqual([200, 200])
  })

  test('a value that the scope requires of the parent', async () => {
    const reply = await as('ann', 'POST order/', { items: [{ text: 'first' }] })
    expect([reply.status, reply.json()]).toEqual([201, expect.objectContaining({ tenant: 1 })])
  })

  test('owners', async () => {
    const created = await as('ann', 'POST board/?include=notes', { notes: [{ text: 'mine' }] })
    const { id, notes } = created.json() as { id: number; notes: readonly { id: number; author_id: number }[] }
    expect([created.status, notes[0]?.author_id]).toEqual([201, 1])
    const [note] = notes
    const statuses = [
      (await as('max', `PATCH board/${id}/`, { notes: [{ id: note?.id, text: 'yours' }] })).status,
      (await as('max', `PUT board/${id}/`, { notes: [] })).status,
      (await as('max', `PUT board/${id}/`, { notes: [{ id: note?.id, text: 'mine' }, { text: 'new' }] })).status,
      (await as('ann', `PATCH board/${id}/`, { notes: [{ id: note?.id, text: 'changed' }] })).status,
    ]
    expect(statuses).toEqual([403, 403, 200, 200])
    expect(await world.sql('SELECT "text" FROM "note" ORDER BY "id"')).toEqual([{ text: 'changed' }, { text: 'new' }])
    expect((await as('ann', `PUT board/${id}/`, { notes: [] })).status).toBe(403)
  })
})
