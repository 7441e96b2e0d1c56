import 'reflect-metadata'
import Koa from 'koa'
import { DataSource } from 'typeorm'
import { anonymous, mountResources, userRule } from 'typeorm-resources'
import { optionsFor } from '../database'
import { database, serve } from '../serve'

serve(async () => {
  const dataSource = await new DataSource(optionsFor(database)).initialize()
  const app = new Koa()
  mountResources(app, dataSource, { defaultAuth: () => anonymous })
  mountResources(app, dataSource, { defaultAuth: userRule(), prefix: '/signed' })
  return app.listen(0, '127.0.0.1')
})
