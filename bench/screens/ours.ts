import 'reflect-metadata'
import Koa from 'koa'
import { DataSource } from 'typeorm'
import { mountResources } from 'typeorm-resources'
import { optionsFor } from '../database'
import { database, serve } from '../serve'
import { entities } from './model'

serve(async () => {
  const app = new Koa()
  mountResources(app, await new DataSource({ ...optionsFor(database), entities }).initialize())
  return app.listen(0, '127.0.0.1')
})
