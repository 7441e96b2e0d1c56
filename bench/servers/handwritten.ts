/**
 * Handlers written by hand for one table. Their responses equal those of the service byte by byte, including headers, except for the
 * ETag of lists.
 */
import { hash } from 'node:crypto'

/** Runs a statement, which is prepared once for each text. */
export type RunQuery = (sql: string, values: readonly unknown[]) => Promise<readonly Row[]> | readonly Row[]

/** A note as the driver returns it. */
export interface Row {
  readonly id: number
  readonly title: string
  readonly body: string
  readonly score: number
  readonly published: unknown
  readonly created: unknown
  readonly author_id: number
}

/** The differences between databases and their drivers. */
export interface DatabaseAdapter {
  readonly query: RunQuery
  /** Whether the database supports UPDATE with RETURNING. */
  readonly updateReturns: boolean
  /** The placeholder of a bind parameter, from 1. */
  readonly placeholder: (index: number) => string
  readonly dateTime: (stored: unknown) => string
  /** Date-time in milliseconds since 1970. */
  readonly milliseconds: (stored: unknown) => number
  readonly boolean: (value: boolean) => unknown
}

const columns = '"id", "title", "body", "score", "published", "created", "authorId" AS "author_id"'
const columnsOfNote = columns.replace(/"(?=\w+")/g, 'n."').replace('AS n."', 'AS "')

export class BadRequest extends Error {}

/** Body and headers of a response. */
export interface NoteResponse {
  readonly json: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Notes {
  readonly list: (query: URLSearchParams) => Promise<NoteResponse>
  readonly read: (id: string) => Promise<NoteResponse>
  readonly create: (body: Readonly<Record<string, unknown>>) => Promise<NoteResponse>
  readonly update: (id: string, body: Readonly<Record<string, unknown>>) => Promise<NoteResponse>
}

const headers = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-cache',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Authorization',
}

export function handwrittenNotes(database: DatabaseAdapter): Notes {
  const { query, placeholder, dateTime, milliseconds, boolean } = database
  const toRecord = (row: Row) => ({
    id: row.id,
    title: row.title,
    body: row.body,
    score: row.score,
    published: Boolean(row.published),
    created: dateTime(row.created),
    author_id: row.author_id,
  })
  const withEtag = ([row]: readonly Row[]): NoteResponse => {
    if (row === undefined) throw new BadRequest('the note does not exist')
    const json = JSON.stringify(toRecord(row))
    const tag = hash('sha256', `${json} ${milliseconds(row.created)}`, 'base64url').slice(0, 22)
    return { json, headers: { ...headers, ETag: `"${tag}"` } }
  }
  const selectById = `SELECT ${columns} FROM "notes" WHERE "id" = ${placeholder(1)}`
  return {
    list: async (parameters) => {
      const values: unknown[] = []
      const conditions: string[] = []
      const filters: string[] = []
      const bind = (value: unknown): string => placeholder(values.push(value))
      let [join, order, limit, page] = ['', 'n."id" ASC', 20, 1]
      for (const [name, value] of parameters) {
        if (name === 'limit') limit = Number(value)
        else if (name === 'page') page = Number(value)
        else filters.push(`${name}=${value}`)
        if (name === 'published') conditions.push(`n."published" = ${bind(boolean(value === 'true'))}`)
        else if (name === 'score__lte') conditions.push(`n."score" <= ${bind(Number(value))}`)
        else if (name === 'author__username') {
          join = 'JOIN "users" u ON u."id" = n."authorId"'
          conditions.push(`u."username" = ${bind(value)}`)
        } else if (name === 'ordering' && value === '-score') order = 'n."score" DESC, n."id" ASC'
        else if (name !== 'limit' && name !== 'page') throw new BadRequest(`${name} is not a field of notes`)
      }
      const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
      const limits = `LIMIT ${bind(limit + 1)} OFFSET ${bind((page - 1) * limit)}`
      const rows = await query(
        `SELECT ${columnsOfNote} FROM "notes" n ${join} ${where} ORDER BY ${order} ${limits}`,
        values,
      )
      const link = (target: number): string =>
        `/api/note/?${[...filters, `limit=${limit}`, `page=${target}`].join('&')}`
      const meta = {
        model: 'note',
        page,
        next: rows.length > limit ? link(page + 1) : '',
        previous: page > 1 ? link(page - 1) : '',
      }
      return { json: JSON.stringify({ meta, objects: rows.slice(0, limit).map(toRecord) }), headers }
    },
    read: async (id) => {
      return withEtag(await query(selectById, [Number(id)]))
    },
    create: async ({ title, body, score, published, author_id }) => {
      if (typeof title !== 'string' || typeof body !== 'string') throw new BadRequest('title and body must be strings')
      if (!Number.isInteger(score) || !Number.isInteger(author_id))
        throw new BadRequest('score and author_id must be integers')
      if (typeof published !== 'boolean') throw new BadRequest('published must be true or false')
      const placeholders = [1, 2, 3, 4, 5].map(placeholder).join(', ')
      const sql = `INSERT INTO "notes" ("title", "body", "score", "published", "authorId") VALUES (${placeholders}) RETURNING ${columns}`
      const rows = await query(sql, [title, body, score, boolean(published), author_id])
      const response = withEtag(rows)
      return { ...response, headers: { ...response.headers, Location: `/api/note/${rows[0]?.id}/` } }
    },
    update: async (id, { title, score }) => {
      if (typeof title !== 'string' || !Number.isInteger(score))
        throw new BadRequest('title must be a string, score an integer')
      const sql = `UPDATE "notes" SET "title" = ${placeholder(1)}, "score" = ${placeholder(2)} WHERE "id" = ${placeholder(3)}`
      const values = [title, score, Number(id)]
      if (database.updateReturns) return withEtag(await query(`${sql} RETURNING ${columns}`, values))
      await query(sql, values)
      return withEtag(await query(selectById, [Number(id)]))
    },
  }
}
