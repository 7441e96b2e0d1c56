import {
  AfterLoad,
  ChildEntity,
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { KiB, longText } from '../support/texts'
import { VariedIndex } from '../world/vary'
import { openWorld, type World } from '../world/world'

/** The parameter `include`, which adds related records to those of a response. */

@Entity()
@Resource({ auth: permitAll, exclude: ['secret'] })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @Column({ length: 20, unique: true }) email!: string
  @Column({ length: 20 }) secret!: string
  @OneToOne(
    () => Badge,
    (badge) => badge.person,
  )
  badge!: Relation<Badge> | null
}

@Entity()
@Resource({ auth: permitAll })
class Badge {
  @PrimaryGeneratedColumn() id!: number
  @Column() level!: number
  @OneToOne(
    () => Person,
    (person) => person.badge,
  )
  @JoinColumn()
  person!: Relation<Person>
}

/** Only open projects are visible. */
@Entity()
@Resource({ auth: permitAll, scope: () => ({ open: true }) })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @Column() open!: boolean
  @OneToMany(
    () => Task,
    (task) => task.project,
  )
  tasks!: Relation<Task>[]
}

class Place {
  @ManyToOne(() => Person, { nullable: true }) keeper!: Relation<Person> | null
}

@Entity()
@Resource({ auth: permitAll })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) title!: string
  @VariedIndex()
  @ManyToOne(
    () => Project,
    (project) => project.tasks,
    { nullable: true },
  )
  project!: Relation<Project> | null
  @ManyToOne(() => Person, { nullable: true }) assignee!: Relation<Person> | null
  @ManyToOne(() => Person, { nullable: true })
  @JoinColumn({ referencedColumnName: 'email' })
  reporter!: Relation<Person> | null
  @VariedIndex()
  @ManyToOne(
    () => Task,
    (task) => task.subtasks,
    { nullable: true },
  )
  parent!: Relation<Task> | null
  @OneToMany(
    () => Task,
    (task) => task.parent,
  )
  subtasks!: Relation<Task>[]
  @OneToMany(
    () => Comment,
    (comment) => comment.task,
  )
  comments!: Relation<Comment>[]
  @ManyToMany(
    () => Tag,
    (tag) => tag.tasks,
  )
  @JoinTable()
  tags!: Relation<Tag>[]
  @ManyToMany(() => Person)
  @JoinTable()
  watchers!: Relation<Person>[]
  @Column(() => Place) place!: Place
}

@Entity()
@Resource({ auth: permitAll, scope: () => ({ spam: false }) })
class Comment {
  @PrimaryGeneratedColumn('uuid') id!: string
  @Column() spam!: boolean
  @Column() rank!: number
  @Column(longText) text!: string
  @ManyToOne(() => Person, { nullable: true }) author!: Relation<Person> | null
  @VariedIndex()
  @ManyToOne(
    () => Task,
    (task) => task.comments,
  )
  task!: Relation<Task>
}

@Entity()
@Resource({ auth: permitAll, includes: [] })
class Tag {
  @PrimaryColumn({ length: 10 }) name!: string
  @ManyToMany(
    () => Task,
    (task) => task.tags,
  )
  tasks!: Relation<Task>[]
}

/** Has a key of two columns, and is soft-deleted. */
@Entity()
@Resource({ auth: permitAll })
class Room {
  @PrimaryColumn({ length: 10 }) house!: string
  @PrimaryColumn('int') number!: number
  @DeleteDateColumn() gone!: Date | null
  @OneToMany(
    () => Bed,
    (bed) => bed.room,
  )
  beds!: Relation<Bed>[]
}

@Entity()
@Resource({ auth: permitAll })
class Bed {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 10 }) size!: string
  @DeleteDateColumn() gone!: Date | null
  @VariedIndex()
  @ManyToOne(
    () => Room,
    (room) => room.beds,
    { nullable: true },
  )
  room!: Relation<Room> | null
}

@Entity()
@TableInheritance({ column: { type: 'varchar', name: 'type', length: 20 } })
@Resource({ auth: permitAll })
class Animal {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @ManyToOne(() => Animal, { nullable: true }) mother!: Relation<Animal> | null
}

@ChildEntity()
@Resource({ auth: permitAll })
class Dog extends Animal {
  @Column({ nullable: true }) barks!: boolean
  @VariedIndex()
  @ManyToOne(
    () => Owner,
    (owner) => owner.dogs,
    { nullable: true },
  )
  owner!: Relation<Owner> | null
}

@ChildEntity()
@Resource({ auth: permitAll })
class Cat extends Animal {
  @Column({ nullable: true }) lives!: number
}

@Entity()
@Resource({ auth: permitAll })
class Owner {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @OneToMany(
    () => Dog,
    (dog) => dog.owner,
  )
  dogs!: Relation<Dog>[]
}

/** Has a load listener, which changes what records show. */
@Entity()
@Resource({ auth: permitAll, exclude: ['pin'] })
class Card {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) pin!: string
  @Column({ length: 20 }) title!: string
  @ManyToOne(() => Card, { nullable: true }) next!: Relation<Card> | null
  @ManyToMany(() => Card)
  @JoinTable()
  others!: Relation<Card>[]
  @AfterLoad() addLength(): void {
    this.title = `${this.title} ${this.pin.length}`
  }
}

/** Nobody may read it. */
@Entity()
@Resource({ auth: () => null })
class Rate {
  @PrimaryGeneratedColumn() id!: number
  @Column() hourly!: number
}

@Entity()
@Resource({ auth: permitAll, includes: ['rate'] })
class Worker {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int', name: 'total', nullable: true }) things_total!: number | null
  @ManyToOne(() => Rate, { nullable: true }) rate!: Relation<Rate> | null
  @ManyToOne(() => Person, { nullable: true }) boss!: Relation<Person> | null
}

const taskCount = 30
const maxPageBytes = 256 * KiB

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Person, Badge, Project, Task, Comment, Tag, Room, Bed, Animal, Dog, Cat, Owner, Card, Rate, Worker],
    mount: { limits: { pageBytes: maxPageBytes, included: 150 } },
    seed: async (dataSource) => {
      const { manager } = dataSource
      const people = await manager.save(
        Person,
        ['ann', 'bob', 'cleo'].map((name) => ({ name, email: `${name}@x`, secret: `secret ${name}` })),
      )
      const [ann, bob, cleo] = people
      await manager.save(Badge, [{ level: 3, person: bob ?? null }] as object[])
      const [open, closed] = await manager.save(Project, [
        { name: 'open', open: true },
        { name: 'closed', open: false },
      ])
      const tags = await manager.save(
        Tag,
        ['red', 'green', 'blue'].map((name) => ({ name })),
      )
      const tasks: Task[] = []
      for (let index = 0; index < taskCount; index++) {
        const task = manager.create(Task, {
          title: `task ${index}`,
          project: index % 3 === 0 ? closed : index % 3 === 1 ? open : null,
          assignee: [ann, bob, null][index % 3] ?? null,
          reporter: index % 2 === 0 ? (cleo ?? null) : null,
          parent: index > 5 ? (tasks[index % 5] ?? null) : null,
          tags: tags.slice(0, index % 4),
          watchers: people.slice(0, index % 3),
          place: { keeper: index === 1 ? (ann ?? null) : null },
        } as object)
        tasks.push(await manager.save(task))
      }
      const comments = tasks.flatMap((task, index) =>
        Array.from({ length: index % 7 }, (_, rank) => ({
          id: `00000000-0000-4000-8000-${String(index * 100 + rank).padStart(12, '0')}`,
          spam: rank === 2,
          rank,
          text: `comment ${rank} of ${index} ${index === 20 ? 'x'.repeat(20 * KiB) : ''}`,
          author: people[rank % 4] ?? null,
          task,
        })),
      )
      await insertRows(dataSource, Comment, comments)
      const rooms = [
        { house: 'a', number: 1 },
        { house: 'a', number: 2 },
        { house: 'b', number: 1 },
      ]
      await manager.save(Room, rooms)
      await manager.save(Bed, [
        { size: 'small', room: rooms[0] ?? null },
        { size: 'large', room: rooms[0] ?? null },
        { size: 'gone', room: rooms[0] ?? null, gone: new Date() },
        { size: 'small', room: rooms[2] ?? null },
      ] as object[])
      const [owner] = await manager.save(Owner, [{ name: 'olga' }, { name: 'otto' }])
      const [rex] = await manager.save(Dog, [
        { name: 'rex', barks: true, owner: owner ?? null },
        { name: 'fido', barks: false, owner: owner ?? null },
      ] as object[])
      await manager.save(Cat, [{ name: 'tom', lives: 7, mother: rex ?? null }] as object[])
      const [first] = await manager.save(Card, [{ pin: '12', title: 'one' }])
      await manager.save(Card, [{ pin: '123', title: 'two', next: first ?? null, others: [first] }] as object[])
      const [rate] = await manager.save(Rate, [{ hourly: 80 }])
      await manager.save(Worker, [{ things_total: 1, rate: rate ?? null, boss: ann ?? null }] as object[])
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

type Json = Readonly<Record<string, unknown>>

async function json(path: string): Promise<Json> {
  const reply = await get(path)
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.json() as Json
}
const objects = async (path: string): Promise<readonly Json[]> => (await json(path))['objects'] as readonly Json[]
/** The record of an item without its own fields: only what the request includes. */
async function included(path: string, ...names: readonly string[]): Promise<Json> {
  const record = await json(path)
  return Object.fromEntries(names.map((name) => [name, record[name]]))
}

const ann = { id: 1, name: 'ann', email: 'ann@x' }
const bob = { id: 2, name: 'bob', email: 'bob@x' }
const cleo = { id: 3, name: 'cleo', email: 'cleo@x' }

test.each<readonly [path: string, expected: object]>([
  ['task/2/?include=assignee', { assignee: bob }],
  ['task/3/?include=assignee', { assignee: null }],
  ['task/2/?include=assignee(fields:name)', { assignee: { id: 2, name: 'bob' } }],
  ['task/2/?include=assignee(fields:(name,email))', { assignee: bob }],
  ['task/2/?include=assignee(include:badge)', { assignee: { ...bob, badge: { id: 1, level: 3, person_id: 2 } } }],
  ['task/1/?include=assignee(include:(badge))', { assignee: { ...ann, badge: null } }],
  // The project of task 1 is closed, so it is treated like a missing one.
  ['task/1/?include=project', { project: null }],
  ['task/2/?include=project', { project: { id: 1, name: 'open', open: true } }],
  ['task/1/?include=reporter', { reporter: cleo }],
  [
    'task/3/?include=tags',
    {
      tags: [
        { id: 'green', name: 'green' },
        { id: 'red', name: 'red' },
      ],
      tags_next: '',
    },
  ],
  ['task/1/?include=tags', { tags: [], tags_next: '' }],
  [
    'task/4/?include=tags(limit:1,ordering:-id)',
    { tags: [{ id: 'red', name: 'red' }], tags_next: '/api/tag/?tasks__id=4&ordering=-id&limit=1&page=2' },
  ],
  ['task/6/?include=watchers(limit:1)', { watchers: [ann], watchers_next: null }],
  ['task/6/?include=watchers(ordering:-name)', { watchers: [bob, ann], watchers_next: '' }],
  ['task/7/?include=comments(count:exact,limit:0)', { comments: [], comments_next: '', comments_total: 5 }],
  ['task/1/?include=comments(count:exact)', { comments: [], comments_next: '', comments_total: 0 }],
  [
    'task/7/?include=comments(ordering:-rank,limit:2,fields:rank)',
    {
      comments: [5, 4].map((rank) => ({ id: `00000000-0000-4000-8000-00000000060${rank}`, rank })),
      comments_next: '/api/comment/?task_id=7&ordering=-rank&fields=rank&limit=2&page=2',
    },
  ],
  [
    'task/7/?include=comments(author__name:bob,fields:rank)',
    { comments: [1, 5].map((rank) => ({ id: `00000000-0000-4000-8000-00000000060${rank}`, rank })), comments_next: '' },
  ],
  [
    'task/7/?include=comments(or(rank:0,rank__gte:5),fields:rank,include:author(fields:name))',
    {
      comments: [
        { id: '00000000-0000-4000-8000-000000000600', rank: 0, author: { id: 1, name: 'ann' } },
        { id: '00000000-0000-4000-8000-000000000605', rank: 5, author: { id: 2, name: 'bob' } },
      ],
      comments_next: '',
    },
  ],
  [
    'room/a,1/?include=beds(fields:size)',
    {
      beds: [
        { id: 1, size: 'small' },
        { id: 2, size: 'large' },
      ],
      beds_next: '',
    },
  ],
  ['bed/4/?include=room', { room: { id: 'b,1', house: 'b', number: 1, gone: null } }],
  [
    'owner/1/?include=dogs(fields:name)',
    {
      dogs: [
        { id: 1, name: 'rex' },
        { id: 2, name: 'fido' },
      ],
      dogs_next: '',
    },
  ],
  ['cat/3/?include=mother(fields:name)', { mother: { id: 1, name: 'rex' } }],
  ['card/2/?include=next', { next: { id: 1, title: 'one 2', next_id: null } }],
  ['card/2/?include=others', { others: [{ id: 1, title: 'one 2', next_id: null }], others_next: '' }],
  [
    'project/1/?include=tasks(limit:1,fields:title,include:comments(limit:0,count:exact))',
    {
      tasks: [{ id: 2, title: 'task 1', comments: [], comments_next: '', comments_total: 1 }],
      tasks_next: '/api/task/?project_id=1&fields=title&include=comments(limit%3A0%2Ccount%3Aexact)&limit=1&page=2',
    },
  ],
])('%s', async (path, expected) => {
  expect(await included(path, ...Object.keys(expected))).toEqual(expected)
  // Lists have the same members.
  const [collection = '', id = '', query = ''] = path.split(/\/(?:\?)?/)
  const record = (await objects(`${collection}/?limit=1000&${query}`)).find((one) => String(one['id']) === id)
  expect(record).toMatchObject(expected)
})

test('a related record of an embedded entity is included there', async () => {
  const { place } = await json('task/2/?include=place__keeper(fields:name)')
  expect(place).toEqual({ keeper_id: 1, keeper: { id: 1, name: 'ann' } })
})

test('the foreign key remains, and fields selects the fields of the record itself', async () => {
  expect(await json('task/2/?include=assignee(fields:name)&fields=title')).toEqual({
    id: 2,
    title: 'task 1',
    assignee: { id: 2, name: 'bob' },
  })
  expect(await json('task/2/?include=assignee')).toMatchObject({ assignee_id: 2, assignee: { id: 2 } })
})

test('the next path leads to the records that follow', async () => {
  for (const include of ['comments(limit:2,ordering:-rank)', 'tags(limit:1)', 'subtasks(limit:2,fields:title)']) {
    const name = include.split('(')[0] ?? ''
    for (const record of await objects(`task/?limit=100&include=${include}`)) {
      const next = record[`${name}_next`] as string
      const all = (await json(`task/${record['id']}/?include=${include.replace(/limit:\d/, 'limit:100')}`))[name]
      const rest = next === '' ? [] : await objects(next.replace('/api/', ''))
      expect([...(record[name] as object[]), ...rest]).toEqual(
        (all as object[]).slice(0, (record[name] as object[]).length + rest.length),
      )
      expect((record[name] as object[]).length + rest.length).toBe(
        Math.min((all as object[]).length, 2 * Number(/limit:(\d)/.exec(include)?.[1])),
      )
    }
  }
})

test.each<readonly [path: string, statements: number]>([
  ['task/?include=assignee,project,reporter,parent', 1],
  ['task/1/?include=assignee,project,reporter,parent', 1],
  ['task/?include=assignee(include:badge)', 1],
  ['task/?include=assignee,tags', 2],
  ['task/?limit=1000&include=tags,comments(limit:3,fields:rank,include:author)', 3],
  ['task/?include=comments(limit:0,count:exact)', 2],
  ['task/2/?include=comments(count:exact)', 3],
  ['project/?include=tasks(include:(comments(limit:1),tags))', 4],
])('%s runs %d statements', async (path, statements) => {
  await json(path)
  world.statements()
  await json(path)
  expect(world.statements()).toHaveLength(statements)
})

test('filters, orderings and deep pages of the list work beside includes', async () => {
  const rows = await objects('task/?include=assignee,project&assignee__name=bob&ordering=-project__name,-id&limit=3')
  expect(rows.map(({ id }) => id)).toEqual([29, 26, 23])
  expect(rows[0]).toMatchObject({ assignee: bob, project: { name: 'open' } })
  const keyset = await json('task/?include=assignee&limit=4&after=')
  const next = (keyset['meta'] as Json)['next'] as string
  const [fifth] = await objects(next.replace('/api/', ''))
  expect(fifth).toMatchObject({ id: 5, assignee: bob })
})

test('long values are read, and too many of them are refused', async () => {
  const [task = {}] = await objects('task/?id=21&include=comments(limit:5)')
  expect((task['comments'] as readonly Json[]).map(({ text }) => (text as string).length)).toEqual(
    Array.from({ length: 5 }, () => 20 * KiB + 'comment 0 of 20 '.length),
  )
  const reply = await get('task/?limit=100&id__in=21&include=comments(include:task(include:comments))')
  expect([reply.status, reply.json()]).toEqual([
    400,
    expect.objectContaining({ detail: expect.stringContaining('more than the 262144 bytes') }),
  ])
})

test('the number of records in lists is limited', async () => {
  const path = 'project/?include=tasks(include:(watchers,tags,comments(limit:100),subtasks))'
  const reply = await get(path)
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  const over = await get('task/?limit=30&include=project(include:tasks(include:watchers))')
  expect([over.status, over.json()]).toEqual([
    400,
    expect.objectContaining({
      detail: 'the response would include more than 150 records in lists; lower their limits',
    }),
  ])
})

test('the responses to writes include related records, and have the ETag of the plain record', async () => {
  const created = await send(world.url, 'POST /api/task/?include=assignee(fields:name),tags', {
    body: { title: 'new', assignee_id: 2 },
  })
  const record = created.json() as Json
  expect([created.status, record]).toEqual([
    201,
    {
      ...{ id: taskCount + 1, title: 'new', assignee_id: 2, project_id: null, reporter_id: null, parent_id: null },
      ...{ place: { keeper_id: null }, assignee: { id: 2, name: 'bob' }, tags: [], tags_next: '' },
    },
  ])
  const path = `task/${record['id']}/`
  expect(created.headers['etag']).toBe((await get(path)).headers['etag'])
  const updated = await send(world.url, `PUT /api/${path}?include=assignee`, {
    body: { assignee_id: 1 },
    headers: { 'If-Match': String(created.headers['etag']) },
  })
  expect([updated.status, updated.json()]).toEqual([200, expect.objectContaining({ assignee: ann })])
  expect(updated.headers['etag']).toBe((await get(path)).headers['etag'])
  // A refused include writes nothing.
  const refused = await send(world.url, `PUT /api/${path}?include=nothing`, { body: { title: 'other' } })
  expect([refused.status, await json(path)]).toEqual([400, expect.objectContaining({ title: 'new' })])
  expect((await send(world.url, `DELETE /api/${path}`)).status).toBe(204)
})

test('an item with related records has an ETag of its own', async () => {
  const plain = await get('task/2/')
  const path = 'task/2/?include=assignee'
  const { etag } = (await get(path)).headers
  expect(etag).toMatch(/^W\/"/)
  const sendWith = (headers: Readonly<Record<string, string>>) => send(world.url, `GET /api/${path}`, { headers })
  expect((await sendWith({ 'If-None-Match': String(etag) })).status).toBe(304)
  expect((await sendWith({ 'If-Match': String(plain.headers['etag']) })).status).toBe(200)
  expect((await sendWith({ 'If-Match': '"other"' })).status).toBe(412)
  await world.sql(`UPDATE "person" SET "name" = 'rob' WHERE "id" = 2`)
  expect((await sendWith({ 'If-None-Match': String(etag) })).status).toBe(200)
  await world.sql(`UPDATE "person" SET "name" = 'bob' WHERE "id" = 2`)
  expect((await get('task/99/?include=assignee')).status).toBe(404)
  expect((await get('task/x/?include=assignee')).status).toBe(404)
})

test('a resource that the principal may not read cannot be included', async () => {
  const reply = await get('worker/?include=rate')
  expect([reply.status, reply.text.includes('80')]).toEqual([401, false])
})

test.each<readonly [query: string, message: string]>([
  [
    'include=nothing',
    'include names "nothing", which is not a relation of task that can be included; relations: project, assignee, reporter, parent, place__keeper, subtasks, comments, tags, watchers',
  ],
  ['include=assignee_id', 'include names "assignee_id"'],
  ['include=', 'include has the end where the name of a relation is expected at character 9'],
  ['include=tags,tags', 'include names tags twice at character 14'],
  ['include=tags(', 'include has the end where a parameter such as limit:5 is expected at character 14'],
  ['include=tags(limit:1', 'include has an unclosed "(" at character 13'],
  ['include=tags)', 'include has ")" where "," is expected at character 13'],
  ['include=tags(limit:x)', 'include.tags.limit must be an integer from 1 to 150'],
  ['include=tags(limit:0)', 'include.tags.limit must be an integer from 1 to 150'],
  ['include=tags(limit:1,limit:2)', 'include gives limit twice at character 22'],
  ['include=tags(count:capped)', 'include.tags.count must be exact'],
  ['include=tags(colour:red)', 'include.tags.colour is not a field of tag'],
  ['include=comments(rank:high)', 'include.comments.rank must be an integer'],
  ['include=comments(fields:rnk)', 'include.comments.fields names "rnk", which is not a field of comment'],
  ['include=comments(ordering:text__x)', 'include.comments.ordering names "text__x"'],
  [
    'include=assignee(limit:1)',
    'include gives limit for assignee, which is one record; only fields and include are possible',
  ],
  ['include=assignee(name:ann)', 'include gives name for assignee'],
  ['include=assignee(fields:secret)', 'include.assignee.fields names "secret", which is not a field of person'],
  ['include=assignee(include:secret)', 'include.assignee.include names "secret", which is not a relation of person'],
  [
    'include=tags(include:tasks)',
    'include.tags.include names "tasks", which is not a relation of tag that can be included; relations: none',
  ],
  ['include=comments(search:x)', 'include gives search for comments, but lists of comment do not have this parameter'],
  [
    'include=parent(include:parent(include:parent(include:parent(include:parent))))',
    'include nests includes more than 4 deep',
  ],
  [
    'include=parent(include:(assignee,reporter,project,tags)),assignee,reporter,project,tags',
    'include names more than 8 relations',
  ],
  ['include=tags&include=comments', 'include is given twice'],
])('%s is refused', async (query, message) => {
  const reply = await get(`task/?${query}`)
  expect([reply.status, (reply.json() as Json)['detail']]).toEqual([400, expect.stringContaining(message)])
  const item = await get(`task/1/?${query}`)
  expect([item.status, (item.json() as Json)['detail']]).toEqual([400, expect.stringContaining(message)])
})
