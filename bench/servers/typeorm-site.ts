/** Koa with router, body parser and a repository of TypeORM. */
import 'reflect-metadata'
import Router from '@koa/router'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import { DataSource, type FindManyOptions, LessThanOrEqual, type Repository } from 'typeorm'
import { optionsFor } from '../database'
import { Note } from '../model'
import { database, serve } from '../serve'

/** How the handlers call the repository. */
export interface Style {
  readonly list: (notes: Repository<Note>, options: FindManyOptions<Note>) => Promise<unknown>
  readonly read: (notes: Repository<Note>, id: number) => Promise<unknown>
  readonly create: (notes: Repository<Note>, values: Partial<Note>) => Promise<unknown>
  readonly update: (notes: Repository<Note>, id: number, values: Partial<Note>) => Promise<unknown>
}

export function serveSite(style: Style): void {
  serve(async () => {
    const dataSource = await new DataSource(optionsFor(database)).initialize()
    const notes = dataSource.getRepository(Note)
    const router = new Router()
    router.get('/api/note/', async (context) => {
      const { published, score__lte, author__username, ordering, limit = 20, page = 1 } = context.query
      context.body = await style.list(notes, {
        where: {
          ...(published !== undefined && { published: published === 'true' }),
          ...(score__lte !== undefined && { score: LessThanOrEqual(Number(score__lte)) }),
          ...(author__username !== undefined && { author: { username: String(author__username) } }),
        },
        order: ordering === '-score' ? { score: 'DESC', id: 'ASC' } : { id: 'ASC' },
        take: Number(limit),
        skip: (Number(page) - 1) * Number(limit),
      })
    })
    router.get('/api/note/:id/', async (context) => {
      context.body = await style.read(notes, Number(context['params'].id))
    })
    const bodyOf = (request: object): Partial<Note> => {
      const { author_id, ...values } = Object(Object(request).body)
      return author_id === undefined ? values : { ...values, authorId: author_id }
    }
    router.post('/api/note/', async (context) => {
      context.status = 201
      context.body = await style.create(notes, bodyOf(context.request))
    })
    router.put('/api/note/:id/', async (context) => {
      context.body = await style.update(notes, Number(context['params'].id), bodyOf(context.request))
    })
    const app = new Koa()
    app.use(bodyParser())
    app.use(router.routes())
    return app.listen(0, '127.0.0.1')
  })
}
