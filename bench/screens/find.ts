/** The pages as endpoints of Koa with TypeORM's `find({ relations })`, as its documentation shows it. */
import 'reflect-metadata'
import Router from '@koa/router'
import Koa from 'koa'
import { DataSource } from 'typeorm'
import { optionsFor } from '../database'
import { database, serve } from '../serve'
import { Comment, entities, Task } from './model'

serve(async () => {
  const { manager } = await new DataSource({ ...optionsFor(database), entities }).initialize()
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
  return app.listen(0, '127.0.0.1')
})
