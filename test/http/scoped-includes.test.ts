import {
  Column,
  type DataSource,
  Entity,
  Index,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { openWorld, type World } from '../world/world'

/** Included records that are visible by the row scopes of three relations: they are joined only to the records of a page. */

@Entity()
class Member {
  @PrimaryColumn() id!: number
  @Column() user!: number
  @Index()
  @ManyToOne(() => Company, 'members')
  company!: Relation<Company>
}

@Entity()
class Company {
  @PrimaryColumn() id!: number
  @OneToMany(() => Member, 'company') members!: Relation<Member>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: (me) => ({ company__members__user: me.id ?? 0 }) })
class Project {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
  @Column({ type: 'text' }) notes!: string
  @Index()
  @ManyToOne(() => Company)
  company!: Relation<Company>
}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: { through: 'project' } })
class Task {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) title!: string
  @Index()
  @ManyToOne(() => Project)
  project!: Relation<Project>
  @Index()
  @ManyToOne(() => Task)
  parent!: Relation<Task> | null
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Label {
  @PrimaryColumn() id!: number
  @ManyToMany(() => Task)
  @JoinTable({ name: 'label_tasks', joinColumn: { name: 'label' }, inverseJoinColumn: { name: 'task' } })
  tasks!: Relation<Task>[]
}

const taskCount = 3000
const labelCount = 20
/** Of every ten companies, projects and tasks, user 1 may see nine. */
const isVisible = (id: number): boolean => id % 10 !== 0
const parentOf = (task: number): number => Math.floor(task / 10)

async function seed(dataSource: DataSource): Promise<void> {
  const rows = <Row extends object>(count: number, toRow: (id: number) => Row): readonly Row[] =>
    Array.from({ length: count }, (_, index) => toRow(index + 1))
  await insertRows(
    dataSource,
    Company,
    rows(50, (id) => ({ id })),
  )
  await insertRows(
    dataSource,
    Member,
    rows(5000, (id) => ({ id, user: id <= 50 && isVisible(id) ? 1 : 2, company: { id: 1 + ((id - 1) % 50) } })),
  )
  await insertRows(
    dataSource,
    Project,
    rows(1000, (id) => ({ id, name: `p${id % 50}`, notes: 'n', company: { id: 1 + ((id - 1) % 50) } })),
  )
  await insertRows(
    dataSource,
    Task,
    rows(taskCount, (id) => ({
      id,
      title: `t${id % 97}`,
      project: { id: 1 + ((id - 1) % 1000) },
      parent: id < 10 ? null : { id: parentOf(id) },
    })),
  )
  await insertRows(
    dataSource,
    Label,
    rows(labelCount, (id) => ({ id })),
  )
  const links = rows(taskCount, (id) => ({ label: 1 + (id % labelCount), task: id }))
  await insertRows(dataSource, 'label_tasks', links)
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Member, Company, Project, Task, Label],
    seed,
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

/** The joins of the first included task in a statement. */
const joinsIn = (sql: string): readonly string[] => sql.match(/LEFT JOIN \S*task\W "?`?tr_1\W/g) ?? []
/** The statements of a request that read or count tasks: a count must not join the included records. */
function requireFewJoins(statements: readonly string[]): readonly string[] {
  const isCount = (sql: string): boolean => /SELECT [^,]*(, )?COUNT\(\*\)/.test(sql)
  for (const sql of statements.filter(isCount)) expect(joinsIn(sql)).toEqual([])
  return statements.filter((sql) => !isCount(sql) && /\btr_1\b/.test(sql))
}

interface Included {
  readonly id: number
  readonly project?: { readonly id: number } | null
  readonly parent?: Included | null
}
const parents = 'parent(include:(parent(include:(parent))))'
/** Numbers of a task and those of its visible parents; a parent is null if it is not visible. */
const chainOf = ({ id, parent }: Included): readonly (number | null)[] =>
  parent === undefined ? [id] : [id, ...(parent === null ? [null] : chainOf(parent))]
const expectedChain = (id: number, length: number): readonly (number | null)[] => {
  if (length === 0) return [id]
  const parent = parentOf(id)
  return [id, ...(parent > 0 && isVisible(parent) ? expectedChain(parent, length - 1) : [null])]
}
const visibleTasks = Array.from({ length: taskCount }, (_, index) => index + 1).filter(isVisible)
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byTitle = [...visibleTasks].sort((a, b) => byText(`t${a % 97}`, `t${b % 97}`) || a - b)
const projectOf = (task: number): number => 1 + ((task - 1) % 1000)
const byProject = [...visibleTasks].sort((a, b) => byText(`p${projectOf(a) % 50}`, `p${projectOf(b) % 50}`) || a - b)

test.each([
  ['in the order of the keys', `limit=20&include=${parents}`, visibleTasks.slice(0, 20)],
  ['in the order of a column', `limit=20&ordering=title&include=${parents}`, byTitle.slice(0, 20)],
  ['on a later page', `limit=20&page=60&include=${parents}`, visibleTasks.slice(1180, 1200)],
  ['with a count', `limit=20&count=exact&include=${parents}`, visibleTasks.slice(0, 20)],
  ['after a token', `limit=20&after=&ordering=title&include=${parents}`, byTitle.slice(0, 20)],
  ['by a column of the included record', 'limit=20&ordering=project__name&include=project', byProject.slice(0, 20)],
  [
    'by a column of another record than the included one',
    'limit=20&ordering=project__name&include=parent',
    byProject.slice(0, 20),
  ],
  [
    'by a column of an included record, with a filter on it',
    'limit=20&ordering=project__name,title&include=project,parent&project__name=p7',
    byTitle.filter((id) => projectOf(id) % 50 === 7).slice(0, 20),
  ],
])('a page of a list with visible included records, %s', async (_, query, expected) => {
  world.statements()
  const reply = await get(`task/?${query}`)
  expect(reply.status).toBe(200)
  const reads = requireFewJoins(world.statements())
  const [sql = ''] = reads
  expect(reads).toHaveLength(1)
  // A subquery selects the keys of the page. A record that is only included is joined after it.
  expect(sql).toMatch(/ FROM \(SELECT .* LIMIT /s)
  if (query.includes(parents)) {
    expect(joinsIn(sql)).toHaveLength(1)
    expect(joinsIn(sql.slice(0, sql.indexOf(' LIMIT ')))).toEqual([])
  }
  const { objects, meta } = reply.json() as {
    readonly objects: readonly Included[]
    readonly meta: { readonly total?: number }
  }
  expect(objects.map(({ id }) => id)).toEqual(expected)
  if (query.includes('count')) expect(meta.total).toBe(visibleTasks.length)
  for (const task of objects) {
    if (task.parent !== undefined) {
      const chain = chainOf(task)
      expect(chain).toEqual(expectedChain(task.id, query.includes(parents) ? 3 : 1).slice(0, chain.length))
    }
    if (task.project !== undefined) expect(task.project?.id).toBe(projectOf(task.id))
  }
})

test.each([
  ['one level', 'limit:30,include:(parent)', 1],
  ['three levels', `limit:30,include:(${parents})`, 3],
  ['one level, and counts', 'limit:30,count:exact,include:(parent)', 1],
])('included lists with visible records of %s', async (_, options, levels) => {
  world.statements()
  const reply = await get(`label/?limit=100&include=tasks(${options})`)
  expect(reply.status).toBe(200)
  const reads = requireFewJoins(world.statements())
  expect(reads.length).toBeGreaterThan(0)
  for (const sql of reads) expect(joinsIn(sql)).toHaveLength(1)
  const { objects } = reply.json() as {
    readonly objects: readonly {
      readonly id: number
      readonly tasks: readonly Included[]
      readonly tasks_total?: number
    }[]
  }
  for (const { id, tasks, tasks_total } of objects) {
    const all = visibleTasks.filter((task) => 1 + (task % labelCount) === id)
    expect(tasks.map(chainOf)).toEqual(all.slice(0, 30).map((task) => expectedChain(task, levels)))
    expect(tasks_total).toBe(options.includes('count') ? all.length : undefined)
  }
})
