import Router from '@koa/router'
import Database from 'better-sqlite3'
import { jwtVerify } from 'jose'
import Koa, { type Context } from 'koa'
import type { DataSource } from 'typeorm'
import { login, tokens } from '../../sample/tracker/login'
import { pageSize } from './data'
import { addWrites } from './handwritten-writes'

type Row = Readonly<Record<string, unknown>>

/** Condition for the projects that a person may see. Binds the person twice. */
const visible = `(p.companyId IN (SELECT company_id FROM membership WHERE person_id = ?)
  OR p.id IN (SELECT project_id FROM guest WHERE person_id = ?))`
const task = 't.id, t.title, t.state, p.id project_id, p.name project, a.id assignee_id, a.username assignee'
const tasks = `FROM task t JOIN project p ON p.id = t.projectId LEFT JOIN person a ON a.id = t.assigneeId
  WHERE t.deleted IS NULL AND ${visible}`
/** Entries are not visible to guests. Binds the person once. */
const entries = `FROM entry e JOIN task t ON t.id = e.taskId JOIN project p ON p.id = t.projectId
  JOIN person a ON a.id = e.personId
  WHERE t.deleted IS NULL AND p.companyId IN (SELECT company_id FROM membership WHERE person_id = ?)`

/**
 * Endpoints for the views of the page, with prepared statements. They check the token and the membership, but have no
 * parameters, limits and ETags.
 */
export function handwritten(dataSource: DataSource, file: string): Koa {
  const db = new Database(file, { readonly: true })
  const board = db.prepare(`SELECT ${task} ${tasks} ORDER BY t.id DESC LIMIT ${pageSize + 1}`)
  const total = db.prepare(`SELECT COUNT(*) ${tasks}`).pluck()
  const marks = Array.from({ length: pageSize }, () => '?').join()
  const tagsOf = db.prepare(
    `SELECT tt.taskId, g.id, g.label FROM task_tags_tag tt JOIN tag g ON g.id = tt.tagId
    WHERE tt.taskId IN (${marks}) ORDER BY g.id`,
  )
  const commentCounts = db.prepare(`SELECT taskId, COUNT(*) n FROM comment WHERE taskId IN (${marks}) GROUP BY taskId`)
  const item = db.prepare(`SELECT ${task} ${tasks} AND t.id = ?`)
  const comments = db.prepare(
    `SELECT c.id, c.text, c.authorId author_id, a.username author FROM comment c JOIN person a ON a.id = c.authorId
    WHERE c.taskId = ? ORDER BY c.id LIMIT 101`,
  )
  const groups = db.prepare(
    `SELECT DATE(e.day, '-6 days', 'weekday 1') day__week, p.id task__project, p.name task__project__name,
      a.username person__username, COUNT(*) count, SUM(e.minutes) minutes__sum ${entries}
    GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2, 3, 4 LIMIT 1001`,
  )
  const exported = db.prepare(`SELECT e.id, e.minutes, e.day, e.taskId, e.personId ${entries} ORDER BY e.day, e.id`)

  const router = new Router()
  router.get('/board', async (context) => {
    const person = await personOf(context)
    const rows = board.all(person, person) as readonly Row[]
    const shown = rows.slice(0, pageSize)
    const ids = Array.from({ length: pageSize }, (_, index) => shown[index]?.['id'] ?? 0)
    const tags = new Map<unknown, object[]>(ids.map((id) => [id, []]))
    for (const { taskId, ...tag } of tagsOf.all(...ids) as readonly Row[]) tags.get(taskId)?.push(tag)
    const numbers = new Map((commentCounts.all(...ids) as readonly Row[]).map(({ taskId, n }) => [taskId, n]))
    context.body = {
      meta: { total: total.get(person, person), next: rows.length > pageSize ? '/board?page=2' : '' },
      objects: shown.map((row) => ({
        ...taskIn(row),
        tags: tags.get(row['id']) ?? [],
        comments_total: numbers.get(row['id']) ?? 0,
      })),
    }
  })
  router.get('/task/:id', async (context) => {
    const person = await personOf(context)
    const found = item.get(person, person, context['params'].id) as Row | undefined
    if (found === undefined) return
    const ids = Array.from({ length: pageSize }, (_, index) => (index === 0 ? found['id'] : 0))
    context.body = {
      ...taskIn(found),
      tags: (tagsOf.all(...ids) as readonly Row[]).map(({ id, label }) => ({ id, label })),
      comments: (comments.all(found['id']) as readonly Row[])
        .slice(0, 100)
        .map(({ id, text, author_id, author }) => ({ id, text, author: { id: author_id, username: author } })),
    }
  })
  router.get('/dashboard', async (context) => {
    context.body = { objects: groups.all(await personOf(context)) }
  })
  router.get('/export', async (context) => {
    const lines = ['id,minutes,day,task_id,person_id']
    for (const row of exported.raw().iterate(await personOf(context))) lines.push((row as unknown[]).join())
    context.type = 'text/csv'
    context.body = `${lines.join('\r\n')}\r\n`
  })
  addWrites(router, new Database(file))
  const app = new Koa()
  app.use(login(dataSource))
  app.use(router.routes())
  return app
}

const secret = new TextEncoder().encode(tokens.secret)

/** @returns the id of the person whose token the request has */
export async function personOf(context: Context): Promise<number> {
  const { payload } = await jwtVerify(context.get('Authorization').slice('Bearer '.length), secret, {
    issuer: tokens.issuer,
    audience: tokens.audience,
    algorithms: ['HS256'],
  })
  return Number(payload.sub)
}

function taskIn({ id, title, state, project_id, project, assignee_id, assignee }: Row): object {
  return {
    id,
    title,
    state,
    project: { id: project_id, name: project },
    assignee: assignee_id === null ? null : { id: assignee_id, username: assignee },
  }
}
