/**
 * What a page of an application costs that needs related records: a board of 20 tasks and a task with its comments, compared with endpoints written by
 * hand and with TypeORM's `find({ relations })`: `npm run bench:screens`. Time of the server's process for one request.
 */
import 'reflect-metadata'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Router from '@koa/router'
import autocannon from 'autocannon'
import Database from 'better-sqlite3'
import Koa from 'koa'
import {
  Column,
  DataSource,
  Entity,
  Index,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { anonymous, mountResources, Resource } from 'typeorm-resources'
import { database, serve, type Usage } from './serve'

const auth = () => anonymous

@Entity()
@Resource({ auth })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) name!: string
}

@Entity()
@Resource({ auth })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) name!: string
}

@Entity()
@Resource({ auth })
class Tag {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) label!: string
}

@Entity()
@Resource({ auth })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 100 }) title!: string
  @Column({ length: 10 }) status!: string
  @Index()
  @ManyToOne(() => Project)
  project!: Relation<Project>
  @ManyToOne(() => Person)
  assignee!: Relation<Person>
  @ManyToMany(() => Tag)
  @JoinTable({ name: 'task_tag', joinColumn: { name: 'taskId' }, inverseJoinColumn: { name: 'tagId' } })
  tags!: Relation<Tag>[]
  @OneToMany(
    () => Comment,
    (comment) => comment.task,
  )
  comments!: Relation<Comment>[]
}

@Entity()
@Resource({ auth })
class Comment {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 500 }) text!: string
  @ManyToOne(() => Person)
  author!: Relation<Person>
  @Index()
  @ManyToOne(
    () => Task,
    (task) => task.comments,
  )
  task!: Relation<Task>
}

const entities = [Person, Project, Tag, Task, Comment]
const taskCount = 2000
const projectCount = 20
const commentsPerTask = 30

const open = (file: string): Promise<DataSource> =>
  new DataSource({ type: 'better-sqlite3', database: file, entities }).initialize()

async function seed(file: string): Promise<void> {
  const source = await new DataSource({
    type: 'better-sqlite3',
    database: file,
    entities,
    synchronize: true,
  }).initialize()
  await source.destroy()
  const db = new Database(file)
  const insert = (table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): void => {
    const statement = db.prepare(`INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`)
    db.transaction(() => {
      for (const row of rows) statement.run(...row)
    })()
  }
  const each = <T>(count: number, build: (index: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, index) => build(index))
  insert(
    'person',
    ['name'],
    each(100, (index) => [`person ${index}`]),
  )
  insert(
    'project',
    ['name'],
    each(projectCount, (index) => [`project ${index}`]),
  )
  insert(
    'tag',
    ['label'],
    each(10, (index) => [`tag ${index}`]),
  )
  insert(
    'task',
    ['title', 'status', 'projectId', 'assigneeId'],
    each(taskCount, (index) => [
      `task ${index}`,
      index % 3 === 0 ? 'done' : 'open',
      1 + (index % projectCount),
      1 + (index % 100),
    ]),
  )
  insert(
    'task_tag',
    ['taskId', 'tagId'],
    each(taskCount * 2, (index) => [1 + (index >> 1), 1 + ((index * 7) % 10)]),
  )
  insert(
    'comment',
    ['text', 'authorId', 'taskId'],
    each(taskCount * commentsPerTask, (index) => [
      'A comment of about the length that comments have, which is a line or two.',
      1 + (index % 100),
      1 + (index % taskCount),
    ]),
  )
  db.close()
}

type Row = Readonly<Record<string, unknown>>

/** Endpoints written by hand, with prepared statements. */
function handwritten(): Koa {
  const db = new Database(database, { readonly: true })
  const board =
    db.prepare(`SELECT t.id, t.title, t.status, t.projectId project_id, t.assigneeId assignee_id, p.name project, a.name assignee
    FROM task t LEFT JOIN project p ON p.id = t.projectId LEFT JOIN person a ON a.id = t.assigneeId WHERE t.projectId = ? ORDER BY t.id LIMIT 21`)
  const marks = Array.from({ length: 20 }, () => '?').join()
  const tags = db.prepare(
    `SELECT tt.taskId, g.id, g.label FROM task_tag tt JOIN tag g ON g.id = tt.tagId WHERE tt.taskId IN (${marks}) ORDER BY g.id`,
  )
  const counts = db.prepare(`SELECT taskId, COUNT(*) n FROM comment WHERE taskId IN (${marks}) GROUP BY taskId`)
  const task = db.prepare(
    'SELECT t.id, t.title, t.status, t.projectId project_id, t.assigneeId assignee_id, a.name assignee FROM task t LEFT JOIN person a ON a.id = t.assigneeId WHERE t.id = ?',
  )
  const comments = db.prepare(
    'SELECT c.id, c.text, c.authorId author_id, c.taskId task_id, p.name author FROM comment c LEFT JOIN person p ON p.id = c.authorId WHERE c.taskId = ? ORDER BY c.id LIMIT 101',
  )
  const named = (id: unknown, name: unknown): object | null => (id === null ? null : { id, name })
  const router = new Router()
  router.get('/board/:project', (context) => {
    const rows = board.all(context['params'].project) as readonly Row[]
    const shown = rows.slice(0, 20)
    const ids = Array.from({ length: 20 }, (_, index) => shown[index]?.['id'] ?? 0)
    const tagsOf = new Map<unknown, object[]>()
    for (const { taskId, ...tag } of tags.all(...ids) as readonly Row[]) {
      const own = tagsOf.get(taskId)
      if (own === undefined) tagsOf.set(taskId, [tag])
      else own.push(tag)
    }
    const countOf = new Map((counts.all(...ids) as readonly Row[]).map(({ taskId, n }) => [taskId, n]))
    context.body = {
      meta: { model: 'task', page: 1, next: rows.length > 20 ? '/board/?page=2' : '', previous: '' },
      objects: shown.map(({ project, assignee, ...own }) => ({
        ...own,
        project: named(own['project_id'], project),
        assignee: named(own['assignee_id'], assignee),
        tags: tagsOf.get(own['id']) ?? [],
        comments_total: countOf.get(own['id']) ?? 0,
      })),
    }
  })
  router.get('/task/:id', (context) => {
    const found = task.get(context['params'].id) as Row | undefined
    if (found === undefined) return
    const { assignee, ...own } = found
    const rows = comments.all(own['id']) as readonly Row[]
    context.body = {
      ...own,
      assignee: named(own['assignee_id'], assignee),
      comments: rows.slice(0, 100).map(({ author, ...one }) => ({ ...one, author: named(one['author_id'], author) })),
    }
  })
  const app = new Koa()
  app.use(router.routes())
  return app
}

/** TypeORM's `find({ relations })`, as its documentation shows it. */
async function withFind(): Promise<Koa> {
  const { manager } = await open(database)
  const router = new Router()
  router.get('/board/:project', async (context) => {
    const tasks = await manager.find(Task, {
      where: { project: { id: Number(context['params'].project) } },
      relations: { project: true, assignee: true, tags: true },
      order: { id: 'ASC' },
      take: 20,
    })
    const counted = await Promise.all(tasks.map(({ id }) => manager.countBy(Comment, { task: { id } })))
    context.body = tasks.map((one, index) => ({ ...one, comments_total: counted[index] }))
  })
  router.get('/task/:id', async (context) => {
    context.body = await manager.findOne(Task, {
      where: { id: Number(context['params'].id) },
      relations: { assignee: true, comments: { author: true } },
    })
  })
  const app = new Koa()
  app.use(router.routes())
  return app
}

async function ours(): Promise<Koa> {
  const app = new Koa()
  mountResources(app, await open(database))
  return app
}

const servers: Readonly<Record<string, () => Koa | Promise<Koa>>> = { ours, handwritten, find: withFind }
const boardQuery = 'limit=20&include=project(fields:name),assignee(fields:name),tags,comments(count:exact,limit:0)'
const paths: Readonly<Record<string, readonly [own: (pick: number) => string, other: (pick: number) => string]>> = {
  board: [
    (pick) => `/api/task/?project=${1 + (pick % projectCount)}&${boardQuery}`,
    (pick) => `/board/${1 + (pick % projectCount)}`,
  ],
  task: [
    (pick) =>
      `/api/task/${1 + (pick % taskCount)}/?include=assignee(fields:name),comments(include:author(fields:name))`,
    (pick) => `/task/${1 + (pick % taskCount)}`,
  ],
}

interface Running {
  readonly name: string
  readonly child: ChildProcess
  readonly origin: string
}

async function start(name: string, file: string): Promise<Running> {
  const child = fork(__filename, {
    env: { ...process.env, NODE_ENV: 'production', BENCH_SERVER: name, BENCH_DATABASE: file },
  })
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
  return { name, child, origin: `http://127.0.0.1:${port}` }
}

async function cpuOf({ child }: Running): Promise<number> {
  child.send('usage')
  const [{ cpu }] = (await once(child, 'message')) as [Usage]
  return cpu
}

/** CPU time of one request, in microseconds. */
async function window(running: Running, screen: string, amount: number): Promise<number> {
  const path = paths[screen]?.[running.name === 'ours' ? 0 : 1]
  if (path === undefined) throw new Error(`there is no ${screen}`)
  const requests = Array.from({ length: 64 }, (_, pick) => ({ path: path(pick * 37) }))
  const before = await cpuOf(running)
  const result = await autocannon({ url: running.origin, connections: 8, amount, requests })
  if (result['2xx'] < amount) throw new Error(`${running.name} has refused ${screen}`)
  return (((await cpuOf(running)) - before) / amount) * 1000
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

async function compare(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'screens-'))
  const file = join(folder, 'tracker.sqlite')
  await seed(file)
  const runnings = await Promise.all(Object.keys(servers).map((name) => start(name, file)))
  const rounds = Number(process.env['BENCH_ROUNDS'] ?? 15)
  for (const screen of Object.keys(paths)) {
    const times = new Map(runnings.map(({ name }) => [name, [] as number[]]))
    for (let round = -2; round < rounds; round++) {
      for (const running of runnings.toSorted(() => Math.random() - 0.5)) {
        const time = await window(running, screen, running.name === 'find' ? 200 : 1000)
        if (round >= 0) times.get(running.name)?.push(time)
      }
    }
    const own = times.get('ours') ?? []
    for (const [name, all] of times) {
      const ratio = median(all.map((time, index) => time / (own[index] ?? 1)))
      console.log(`${screen}: ${name} ${median(all).toFixed(0)} µs, ${ratio.toFixed(2)} of ours`)
    }
  }
  for (const { child } of runnings) child.disconnect()
  rmSync(folder, { recursive: true })
}

const { BENCH_SERVER: chosen = '' } = process.env
const build = servers[chosen]
if (build === undefined) void compare()
else void serve(async () => (await build()).listen(0, '127.0.0.1'))
