/** The pages as endpoints of Koa with prepared statements. */
import Router from '@koa/router'
import Koa from 'koa'
import { serve } from '../serve'
import { openDatabase, type Row } from './statements'

const pageSize = 20
const named = (id: unknown, name: unknown): object | null => (id === null ? null : { id, name })

serve(() => {
  const prepare = openDatabase()
  const marks = Array.from({ length: pageSize }, () => '?').join()
  const board = prepare(
    `SELECT t.id, t.title, t.status, t.project_id, t.assignee_id, p.name project, a.name assignee
    FROM task t LEFT JOIN project p ON p.id = t.project_id LEFT JOIN person a ON a.id = t.assignee_id
    WHERE t.project_id = ? ORDER BY t.id LIMIT ${pageSize + 1}`,
  )
  const tags = prepare(
    `SELECT tt.task_id, g.id, g.label FROM task_tag tt JOIN tag g ON g.id = tt.tag_id WHERE tt.task_id IN (${marks}) ORDER BY g.id`,
  )
  const counts = prepare(`SELECT task_id, COUNT(*) n FROM comment WHERE task_id IN (${marks}) GROUP BY task_id`)
  const task = prepare(
    `SELECT t.id, t.title, t.status, t.project_id, t.assignee_id, a.name assignee
    FROM task t LEFT JOIN person a ON a.id = t.assignee_id WHERE t.id = ?`,
  )
  const comments = prepare(
    `SELECT c.id, c.text, c.author_id, c.task_id, p.name author
    FROM comment c LEFT JOIN person p ON p.id = c.author_id WHERE c.task_id = ? ORDER BY c.id LIMIT 101`,
  )
  const router = new Router()
  router.get('/board/:project', async (context) => {
    const rows = await board([Number(context['params'].project)])
    const shown = rows.slice(0, pageSize)
    const ids = Array.from({ length: pageSize }, (_, index) => shown[index]?.['id'] ?? 0)
    const tagRows = tags(ids)
    const countRows = counts(ids)
    const tagsOf = new Map<unknown, object[]>()
    for (const { task_id: taskId, ...tag } of await tagRows) {
      const own = tagsOf.get(taskId)
      if (own === undefined) tagsOf.set(taskId, [tag])
      else own.push(tag)
    }
    const countOf = new Map((await countRows).map(({ task_id: taskId, n }) => [taskId, Number(n)]))
    context.body = {
      meta: { model: 'task', page: 1, next: rows.length > pageSize ? '/board/?page=2' : '', previous: '' },
      objects: shown.map(({ project, assignee, ...own }) => ({
        ...own,
        project: named(own['project_id'], project),
        assignee: named(own['assignee_id'], assignee),
        tags: tagsOf.get(own['id']) ?? [],
        comments_total: countOf.get(own['id']) ?? 0,
      })),
    }
  })
  router.get('/task/:id', async (context) => {
    const [found] = (await task([Number(context['params'].id)])) as readonly Row[]
    if (found === undefined) return
    const { assignee, ...own } = found
    const rows = await comments([own['id']])
    context.body = {
      ...own,
      assignee: named(own['assignee_id'], assignee),
      comments: rows.slice(0, 100).map(({ author, ...one }) => ({ ...one, author: named(one['author_id'], author) })),
    }
  })
  const app = new Koa()
  app.use(router.routes())
  return app.listen(0, '127.0.0.1')
})
