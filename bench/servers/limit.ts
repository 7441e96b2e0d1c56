/** Koa with router, body parser and prepared statements of the driver. */
import Router from '@koa/router'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import { serve } from '../serve'
import { BadRequest, handwrittenNotes, type NoteResponse } from './handwritten'
import { openDatabase } from './statements'

serve(() => {
  const notes = handwrittenNotes(openDatabase())
  const router = new Router()
  const bodyOf = (request: object): Readonly<Record<string, unknown>> => Object(Object(request).body)
  const respond = (context: Koa.Context, { json, headers }: NoteResponse, status = 200): void => {
    context.status = status
    context.set(headers)
    context.body = json
  }
  router.get('/api/note/', async (context) =>
    respond(context, await notes.list(new URLSearchParams(context.querystring))),
  )
  router.get('/api/note/:id/', async (context) => respond(context, await notes.read(String(context['params'].id))))
  router.post('/api/note/', async (context) => respond(context, await notes.create(bodyOf(context.request)), 201))
  router.put('/api/note/:id/', async (context) => {
    respond(context, await notes.update(String(context['params'].id), bodyOf(context.request)))
  })
  const app = new Koa()
  app.use(async (context, next) => {
    try {
      await next()
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error
      context.status = 400
      context.body = { detail: error.message }
    }
  })
  app.use(bodyParser())
  app.use(router.routes())
  return app.listen(0, '127.0.0.1')
})
