import type Router from '@koa/router'
import type { Database } from 'better-sqlite3'
import type { Context } from 'koa'
import bodyParser from 'koa-bodyparser'
import getRawBody from 'raw-body'
import { personOf } from './handwritten'

type Row = Readonly<Record<string, unknown>>

/** Rows of one INSERT. */
const chunkRows = 250

/** Condition for the projects of the companies of a person with a role. Binds the person. */
const ofCompany = (role = ''): string =>
  `p.companyId IN (SELECT company_id FROM membership WHERE person_id = ?${role && ` AND role = '${role}'`})`

/**
 * Adds endpoints for the writes of the page. They check the token, the membership and the values, but have no options,
 * limits and ETags, and report only the first mistake.
 */
export function addWrites(router: Router, db: Database): void {
  const visibleTasks = `SELECT t.id FROM task t JOIN project p ON p.id = t.projectId
    WHERE t.deleted IS NULL AND ${ofCompany()} AND t.id IN (SELECT value FROM json_each(?))`
  const changeTasks = db.prepare(`UPDATE task SET state = ? WHERE id IN (${visibleTasks})`)
  const isManaged = db.prepare(`SELECT 1 FROM project p WHERE ${ofCompany('manager')} AND p.id = ?`).pluck()
  const foundTasks = db.prepare(visibleTasks).pluck()
  const insertInvoice = db.prepare('INSERT INTO invoice (number, projectId) VALUES (?, ?) RETURNING *')

  /** Inserts rows of numbers and texts. @returns the stored rows */
  const insert = (table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Row[] => {
    const stored: Row[] = []
    const prepare = (count: number) => {
      const tuples = Array(count).fill(`(${columns.map(() => '?')})`)
      return db.prepare(`INSERT INTO ${table} (${columns}) VALUES ${tuples} RETURNING *`)
    }
    const whole = rows.length < chunkRows ? undefined : prepare(chunkRows)
    for (let start = 0; start < rows.length; start += chunkRows) {
      const part = rows.slice(start, start + chunkRows)
      const statement = part.length === chunkRows && whole ? whole : prepare(part.length)
      stored.push(...(statement.all(...part.flat()) as Row[]))
    }
    return stored
  }

  const parseBody = bodyParser()
  const bodyOf = ({ request }: Context) => Object(Object(request)['body'])

  router.patch('/task', parseBody, async (context: Context) => {
    const person = await personOf(context)
    const { ids, state } = bodyOf(context)
    context.assert(['open', 'doing', 'done'].includes(state), 400, 'state')
    const change = db.transaction(() => changeTasks.run(state, person, JSON.stringify(ids)).changes)
    context.body = { updated: change() }
  })

  router.post('/invoice', parseBody, async (context: Context) => {
    const person = await personOf(context)
    const { number, project_id, lines } = bodyOf(context)
    context.assert(typeof number === 'string' && number.length <= 20, 400, 'number')
    for (const { text, quantity, price } of lines) {
      context.assert(typeof text === 'string' && text.length <= 80, 400, 'text')
      context.assert(Number.isInteger(quantity), 400, 'quantity')
      context.assert(/^\d{1,8}(\.\d{1,2})?$/.test(price), 400, 'price')
    }
    const create = db.transaction(() => {
      context.assert(isManaged.get(person, project_id), 400, 'project_id')
      const invoice = insertInvoice.get(number, project_id) as Row
      const rows = lines.map((line: Row) => [line['text'], line['quantity'], line['price'], invoice['id']])
      return { ...invoice, lines: insert('line', ['text', 'quantity', 'price', 'invoiceId'], rows) }
    })
    context.body = create()
    context.status = 201
  })

  router.post('/entries', async (context: Context) => {
    const person = await personOf(context)
    const text = await getRawBody(context.req, { encoding: 'utf8' })
    const entries = text.split('\n').map((line) => JSON.parse(line))
    for (const { minutes, day, task_id } of entries) {
      context.assert(Number.isInteger(minutes) && Number.isInteger(task_id), 400, 'minutes')
      context.assert(/^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day)), 400, 'day')
    }
    const create = db.transaction(() => {
      const tasks = new Set(entries.map(({ task_id }) => task_id))
      const found = foundTasks.all(person, JSON.stringify([...tasks]))
      context.assert(found.length === tasks.size, 400, 'task_id')
      const rows = entries.map(({ minutes, day, task_id }) => [minutes, day, task_id, person])
      return insert('entry', ['minutes', 'day', 'taskId', 'personId'], rows).length
    })
    context.body = { created: create() }
    context.status = 201
  })
}
