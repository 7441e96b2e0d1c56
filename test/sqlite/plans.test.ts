import {
  ChildEntity,
  Column,
  DeleteDateColumn,
  Entity,
  Index,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { createSearchIndex } from '../support/search-index'
import { openWorld, type World } from '../world/world'

/** The plans of statements that read records by keys. Without `ANALYZE`, SQLite takes the index that was created last of those that seem equally good. */

@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ company: 1 }) })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 1 }) company!: number
  @OneToMany('Task', 'project') tasks!: Relation<Task>[]
  @ManyToMany('Tag') @JoinTable() tags!: Relation<Tag>[]
  @OneToMany('Board', 'project') boards!: Relation<Board>[]
  @OneToMany('File', 'project') files!: Relation<File>[]
  @OneToMany('Image', 'place') images!: Relation<Image>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ company: 1 }) })
// Decorators run from the last to the first: TypeORM creates the index of the foreign key first.
@Index('task_by_status', ['status'])
@Index('task_by_company', ['company'])
@Index('task_by_project', ['project'])
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 1 }) company!: number
  @Column({ default: 1 }) status!: number
  @ManyToOne(() => Project, 'tasks', { nullable: false }) project!: Relation<Project>
}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ company: 1 }) })
@Index('tag_by_company', ['company'])
class Tag {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 1 }) company!: number
  @Column({ default: 1 }) rank!: number
}

/** Has keys of text: an index does not contain them, other than those of integers. */
@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ company: 1 }), bulk: true })
@Index('label_by_company', ['company'])
@Index('label_by_deleted', ['deleted'])
class Label {
  @PrimaryColumn({ length: 20 }) id!: string
  @Column({ default: 1 }) company!: number
  @DeleteDateColumn() deleted!: Date | null
}

@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Use {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Label, { nullable: false }) label!: Relation<Label>
}

/** Visible to its members, and so are its notes. */
@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ members__id: 1 }), bulk: true })
class Board {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 1 }) company!: number
  @Index() @ManyToOne(() => Project, 'boards', { nullable: false }) project!: Relation<Project>
  @ManyToMany('Member') @JoinTable() members!: Relation<Member>[]
  @OneToMany('Note', 'board') notes!: Relation<Note>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Member {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: { through: 'board' }, bulk: true })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Index() @ManyToOne(() => Board, 'notes', { nullable: false }) board!: Relation<Board>
}

/** Its records can be deleted softly, have a type, and can be searched. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
@TableInheritance({ column: { type: 'varchar', length: 10, name: 'kind' } })
@Index('file_by_deleted', ['deleted'])
@Index('file_by_project', ['project'])
class File {
  @PrimaryGeneratedColumn() id!: number
  @DeleteDateColumn() deleted!: Date | null
  @Column({ default: 'red' }) text!: string
  @ManyToOne(() => Project, 'files', { nullable: false }) project!: Relation<Project>
}

@ChildEntity()
@Resource({ auth: permitAllAsUser1, search: { fields: ['text'], index: 'file_search' } })
class Image extends File {
  @Index('file_by_place')
  @ManyToOne(() => Project, 'images', { nullable: true })
  place!: Relation<Project>
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Project, Task, Tag, Label, Use, Board, Member, Note, File, Image],
    seed: async (dataSource) => {
      await createSearchIndex(dataSource, 'file', 'file_search', ['text'])
      await dataSource.query('CREATE INDEX file_by_kind ON file (kind)')
      await dataSource.getRepository(Tag).insert([{}, {}])
      const projects = await dataSource.getRepository(Project).save([{ tags: [{ id: 1 }] }, { tags: [{ id: 2 }] }])
      await dataSource.getRepository(Member).insert([{}, {}])
      await dataSource.getRepository(Board).save(projects.map(({ id }) => ({ project: { id }, members: [{ id: 1 }] })))
      await dataSource.getRepository(Task).insert(projects.map(({ id }) => ({ project: { id } })))
      await dataSource.getRepository(Project).insert(Array.from({ length: 60 }, (_, index) => ({ id: index + 100 })))
    },
  })
})
afterAll(() => world.close())

/** The plans of the statements that read a table since the last call: the tables and indexes that they search. */
async function plansOf(table: string): Promise<string> {
  const selects = world.statements().filter((sql) => /^ *SELECT/.test(sql) && sql.includes(`"${table}"`))
  expect(selects.length).toBeGreaterThan(0)
  const plans = selects.map((sql) => {
    // The service reads its own statements, which it marks by a comment, as arrays.
    return world.sql(`EXPLAIN QUERY PLAN ${sql.replace(/\/\*.*/, '').replaceAll('?', '1')}`)
  })
  return JSON.stringify((await Promise.all(plans)).flat().map((row) => row['detail']))
}

async function request(line: string, body?: unknown): Promise<void> {
  world.statements()
  const { status, text } = await send(world.url, line, { body })
  expect([line, status, text]).toEqual([line, expect.any(Number), expect.stringContaining('"id":')])
}

test.each([
  ...['', '(limit:1)', '(status:1)', '(status__gt:0,limit:1)', '(count:exact,limit:0)', '(count:exact,limit:1)'],
  ...['(ordering:-status)', '(ordering:-status,limit:1)'],
])('a list finds the records of a parent by their foreign key: tasks%s', async (options) => {
  await request(`GET /api/project/?include=tasks${options}`)
  expect(await plansOf('task')).toMatch(/^(?!.*(task_by_company|task_by_status)).*task_by_project/)
})

test('an item finds its related records by their foreign key, not by an index of their scope', async () => {
  await request('GET /api/project/1/?include=tasks')
  expect(await plansOf('task')).toMatch(/^(?!.*task_by_company).*task_by_project/)
})

const searches = ['(search:red)', '(search:red,limit:1)', '(search:red,limit:0,count:exact)']
test.each([
  ...['', '(limit:1)', '(limit:0,count:exact)'].flatMap((options) => [`files${options}`, `images${options}`]),
  ...searches.map((options) => `images${options}`),
])('no index of the type, the date of deletion or the words selects related records: %s', async (include) => {
  for (const path of ['project/1/?', 'project/?limit=100&']) {
    await request(`GET /api/${path}include=${include}`)
    const plans = await plansOf('file')
    expect(plans).toMatch(/file_by_(project|place) \((projectId|placeId)=\?\)/)
    expect(plans).not.toMatch(/file_by_deleted \(deleted=\?\)|file_by_kind|rowid=\?\)","LIST SUBQUERY/)
  }
})

test.each(['', '(limit:1)', '(rank:1)', '(count:exact,limit:0)', '(ordering:-rank)'])(
  'a list finds the records of a parent by the junction table: tags%s',
  async (options) => {
    await request(`GET /api/project/?include=tags${options}`)
    expect(await plansOf('tag')).not.toContain('tag_by_company')
  },
)

test('written records and those that foreign keys refer to are found by their keys', async () => {
  const labels = Array.from({ length: 20 }, (_, index) => ({ id: `label${index}` }))
  await request('POST /api/label/', labels)
  expect(await plansOf('label')).not.toContain('label_by')
  await request(
    'POST /api/use/',
    labels.map(({ id }) => ({ label_id: id })),
  )
  expect(await plansOf('label')).not.toContain('label_by')
})

test.each(['', '(limit:1)', '(limit:0,count:exact)', '(members__id:1)'])(
  'a list with a scope along a relation to many starts from the foreign key: boards%s',
  async (options) => {
    await request(`GET /api/project/?include=boards${options}`)
    expect(await plansOf('board')).toMatch(/SEARCH tr_0 USING (COVERING )?INDEX IDX_\w+ \(projectId=/)
  },
)

test('records are found by their keys, not by the keys of all records in a scope along a relation to many', async () => {
  await request('POST /api/note/', Array(20).fill({ board_id: 2 }))
  const selects = world.statements().filter((sql) => sql.startsWith('SELECT') && sql.includes('"note"'))
  const inScope = selects.filter((sql) => sql.includes('"board_members_member"'))
  expect(inScope.length).toBeGreaterThan(0)
  // SQLite uses no index for an expression.
  for (const sql of inScope) expect(sql).toMatch(/\(\(\+"\w+"\."id"\) IN \(SELECT/)
})

test.each([
  ['GET /api/board/2/', undefined],
  ['PATCH /api/board/2/', { company: 2 }],
  ['GET /api/note/1/', undefined],
  ['POST /api/note/', { board_id: 2 }],
] as const)('a scope along a relation to many reads only the related records of one record: %s', async (line, body) => {
  await request(line, body)
  const plans = await plansOf('board_members_member')
  expect(plans).toContain('CORRELATED SCALAR SUBQUERY')
  // A subquery of IN, which is evaluated for all records.
  expect(plans).not.toContain('LIST SUBQUERY')
})
