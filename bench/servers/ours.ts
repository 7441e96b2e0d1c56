import 'reflect-metadata'
import Koa from 'koa'
import { DataSource } from 'typeorm'
import { anonymous, mountResources, userRule } from 'typeorm-resources'
import { optionsFor } from '../database'
import { Note, User } from '../model'
import { otherEntities } from '../other-entities'
import { database, serve } from '../serve'

const others = otherEntities(Number(process.env['BENCH_ENTITIES'] ?? 5) - 2)

serve(async () => {
  const options = optionsFor(database)
  const dataSource = await new DataSource({ ...options, entities: [User, Note, ...others] }).initialize()
  const app = new Koa()
  const resources = others.map((entity) => ({ entity }))
  mountResources(app, dataSource, { defaultAuth: () => anonymous, resources })
  mountResources(app, dataSource, { defaultAuth: userRule(), prefix: '/signed' })
  return app.listen(0, '127.0.0.1')
})
