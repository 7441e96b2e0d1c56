/**
 * What somebody who knows SQL writes by hand for this one table: the answers of the service byte by byte, their headers too, and
 * nothing more.
 */
import { hash } from 'node:crypto'

/** Runs one statement, prepared once for each text. */
export type Ask = (sql: string, values: readonly unknown[]) => Promise<readonly Row[]> | readonly Row[]

/** A note as the driver hands it out. */
export interface Row {
  readonly id: number
  readonly title: string
  readonly body: string
  readonly score: number
  readonly published: unknown
  readonly created: unknown
  readonly author_id: number
}

/** What differs between databases. */
export interface Spelling {
  readonly ask: Ask
  /** The placeholder of the value at this place, from 1. */
  readonly at: (place: number) => string
  readonly dateTime: (stored: unknown) => string
  /** In milliseconds since 1970. */
  readonly instant: (stored: unknown) => number
  readonly boolean: (value: boolean) => unknown
}

const columns = '"id", "title", "body", "score", "published", "created", "authorId" AS "author_id"'
const columnsOfNote = columns.replace(/"(?=\w+")/g, 'n."').replace('AS n."', 'AS "')

export class BadRequest extends Error {}

/** What goes back: JSON, and what its headers say of it. */
export interface Answer {
  readonly json: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Notes {
  readonly list: (query: URLSearchParams) => Promise<Answer>
  readonly read: (id: string) => Promise<Answer>
  readonly create: (body: Readonly<Record<string, unknown>>) => Promise<Answer>
  readonly update: (id: string, body: Readonly<Record<string, unknown>>) => Promise<Answer>
}

const headers = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-cache',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Authorization',
}

export function handwrittenNotes({ ask, at, dateTime, instant, boolean }: Spelling): Notes {
  const toRecord = (row: Row) => ({
    id: row.id,
    title: row.title,
    body: row.body,
    score: row.score,
    published: Boolean(row.published),
    created: dateTime(row.created),
    author_id: row.author_id,
  })
  const tagged = ([row]: readonly Row[]): Answer => {
    if (row === undefined) throw new BadRequest('there is no such note')
    const json = JSON.stringify(toRecord(row))
    const tag = hash('sha256', `${json} ${instant(row.created)}`, 'base64url').slice(0, 22)
    return { json, headers: { ...headers, ETag: `"${tag}"` } }
  }
  return {
    list: async (query) => {
      const values: unknown[] = []
      const conditions: string[] = []
      const others: string[] = []
      const bind = (value: unknown): string => at(values.push(value))
      let [join, order, limit, page] = ['', 'n."id" ASC', 20, 1]
      for (const [name, value] of query) {
        if (name === 'limit') limit = Number(value)
        else if (name === 'page') page = Number(value)
        else others.push(`${name}=${value}`)
        if (name === 'published') conditions.push(`n."published" = ${bind(boolean(value === 'true'))}`)
        else if (name === 'score__lte') conditions.push(`n."score" <= ${bind(Number(value))}`)
        else if (name === 'author__username') {
          join = 'JOIN "users" u ON u."id" = n."authorId"'
          conditions.push(`u."username" = ${bind(value)}`)
        } else if (name === 'ordering' && value === '-score') order = 'n."score" DESC, n."id" ASC'
        else if (name !== 'limit' && name !== 'page') throw new BadRequest(`${name} is not a field of note`)
      }
      const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
      const pages = `LIMIT ${bind(limit + 1)} OFFSET ${bind((page - 1) * limit)}`
      const rows = await ask(
        `SELECT ${columnsOfNote} FROM "notes" n ${join} ${where} ORDER BY ${order} ${pages}`,
        values,
      )
      const link = (to: number): string => `/api/note/?${[...others, `limit=${limit}`, `page=${to}`].join('&')}`
      const meta = {
        model: 'note',
        page,
        next: rows.length > limit ? link(page + 1) : '',
        previous: page > 1 ? link(page - 1) : '',
      }
      return { json: JSON.stringify({ meta, objects: rows.slice(0, limit).map(toRecord) }), headers }
    },
    read: async (id) => {
      return tagged(await ask(`SELECT ${columns} FROM "notes" WHERE "id" = ${at(1)}`, [Number(id)]))
    },
    create: async ({ title, body, score, published, author_id }) => {
      if (typeof title !== 'string' || typeof body !== 'string') throw new BadRequest('title and body are texts')
      if (!Number.isInteger(score) || !Number.isInteger(author_id)) throw new BadRequest('numbers are integers')
      if (typeof published !== 'boolean') throw new BadRequest('published is true or false')
      const places = [1, 2, 3, 4, 5].map(at).join(', ')
      const sql = `INSERT INTO "notes" ("title", "body", "score", "published", "authorId") VALUES (${places}) RETURNING ${columns}`
      const rows = await ask(sql, [title, body, score, boolean(published), author_id])
      const answer = tagged(rows)
      return { ...answer, headers: { ...answer.headers, Location: `/api/note/${rows[0]?.id}/` } }
    },
    update: async (id, { title, score }) => {
      if (typeof title !== 'string' || !Number.isInteger(score)) throw new BadRequest('a title and a score')
      const sql = `UPDATE "notes" SET "title" = ${at(1)}, "score" = ${at(2)} WHERE "id" = ${at(3)} RETURNING ${columns}`
      return tagged(await ask(sql, [title, score, Number(id)]))
    },
  }
}
