import 'reflect-metadata'
import Koa from 'koa'
import { DataSource, EntitySchema, type ObjectLiteral } from 'typeorm'
import { anonymous, mountResources, userRule } from 'typeorm-resources'
import { optionsFor } from '../database'
import { Note, User } from '../model'
import { database, serve } from '../serve'

/** Others, that nobody asks for. */
const others = Array.from(
  { length: Math.max(Number(process.env['BENCH_ENTITIES'] ?? 5) - 2, 0) },
  (_, index) =>
    new EntitySchema<ObjectLiteral>({
      name: `other${index}`,
      columns: {
        id: { type: Number, primary: true, generated: true },
        name: { type: String },
        number: { type: Number },
        moment: { type: Date },
        isGood: { type: Boolean },
      },
      relations: { first: { type: 'many-to-one', target: 'other0' } },
    }),
)

serve(async () => {
  const options = optionsFor(database)
  const dataSource = await new DataSource({ ...options, entities: [User, Note, ...others] }).initialize()
  const app = new Koa()
  const start = performance.now()
  const resources = others.map((entity) => ({ entity }))
  mountResources(app, dataSource, { defaultAuth: () => anonymous, resources })
  if (others.length > 100) console.error(`${others.length} entities mounted in ${performance.now() - start} ms`)
  mountResources(app, dataSource, { defaultAuth: userRule(), prefix: '/signed' })
  return app.listen(0, '127.0.0.1')
})
