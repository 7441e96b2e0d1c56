import { createServer } from 'node:http'
import Koa from 'koa'
import { Column, DataSource, type DataSourceOptions, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { mountResources, Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { listen } from '../support/listen'
import { openWorld } from '../world/world'

/** Roles whose sessions do not check foreign keys (`session_replication_role`), and that may not change this. */

@Entity()
@Resource({ auth: permitAll })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
}

const role = `resources_replica_${process.pid}`

test('a role whose sessions do not check foreign keys, and that may not change this, gets an error for every statement', async () => {
  const world = await openWorld({ entities: [Note] })
  const { url, schema } = world.dataSource.options as { readonly url: string; readonly schema: string }
  await world.sql(`CREATE ROLE ${role} LOGIN`)
  await world.sql(`ALTER ROLE ${role} SET session_replication_role = replica`)
  await world.sql(`GRANT USAGE ON SCHEMA "${schema}" TO ${role}`)
  await world.sql(`GRANT ALL ON ALL TABLES IN SCHEMA "${schema}" TO ${role}`)
  const options = { ...world.dataSource.options, url: Object.assign(new URL(url), { username: role }).href }
  const dataSource = new DataSource({ ...options, synchronize: false } as DataSourceOptions)
  const app = new Koa()
  const faults: Error[] = []
  app.on('error', (error: Error) => faults.push(error))
  mountResources(app, await dataSource.initialize())
  const server = createServer(app.callback())
  const site = await listen(server)
  try {
    const replies = [await send(site, 'GET /api/note/'), await send(site, 'POST /api/note/', { body: { title: 'a' } })]
    expect(replies.map(({ status }) => status)).toEqual([500, 500])
    expect(faults.map(({ message }) => message)).toEqual(
      Array(2).fill(expect.stringContaining('session_replication_role')),
    )
    expect(await world.sql('SELECT "id" FROM "note"')).toEqual([])
  } finally {
    server.close()
    await dataSource.destroy()
    await world.sql(`DROP OWNED BY ${role}`)
    await world.sql(`DROP ROLE ${role}`)
    await world.close()
  }
})
