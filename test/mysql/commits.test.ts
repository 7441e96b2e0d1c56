import { BeforeInsert, Column, DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { setOnce } from '../support/mysql-session'
import { openWorld } from '../world/world'

/** A write is committed before it is acknowledged, whatever the settings of the session are. */

const everybody = (): { id: number } => ({ id: 1 })

@Entity()
@Resource({ auth: everybody })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
}

/** Each of its writes runs in a transaction. */
@Entity()
@Resource({ auth: everybody })
class Observed {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string

  @BeforeInsert()
  trim(): void {
    this.title = this.title.trim()
  }
}

test.each(['SET autocommit = 0', 'SET completion_type = CHAIN'])('%s', async (settings) => {
  const world = await openWorld({ entities: [Note, Observed], seed: (dataSource) => setOnce(dataSource, settings) })
  const { post, put } = apiOf(() => world.url)
  for (const resource of ['observed', 'note']) {
    for (const title of ['a', 'b', 'c']) expect((await post(resource, { title })).status).toBe(201)
    expect((await put(`${resource}/2`, { title: 'd' })).status).toBe(200)
    expect((await send(world.url, `DELETE /api/${resource}/3/`)).status).toBe(204)
  }
  const other = await new DataSource({ ...world.dataSource.options, synchronize: false }).initialize()
  for (const resource of ['observed', 'note']) {
    expect(await other.query(`SELECT title FROM ${resource} ORDER BY id`)).toEqual([{ title: 'a' }, { title: 'd' }])
  }
  await other.destroy()
  await world.close()
  expect(world.faults).toEqual([])
})

test('sql_auto_is_null: a new record does not match `is=null`', async () => {
  const seed = (dataSource: DataSource) => setOnce(dataSource, 'SET sql_auto_is_null = 1')
  const world = await openWorld({ entities: [Note, Observed], seed, source: { poolSize: 1 } })
  const { get, post } = apiOf(() => world.url)
  expect((await post('note', { title: 'a' })).status).toBe(201)
  expect((await get('note/?id__is=null')).json()).toMatchObject({ objects: [] })
  await world.close()
})

test('a server that permits only reading makes a write 503', async () => {
  const seed = (dataSource: DataSource) => setOnce(dataSource, 'SET SESSION TRANSACTION READ ONLY')
  const world = await openWorld({ entities: [Note, Observed], seed })
  const { get, post } = apiOf(() => world.url)
  for (const resource of ['note', 'observed']) expect((await post(resource, { title: 'a' })).status).toBe(503)
  expect((await get('note/')).json()).toMatchObject({ objects: [] })
  await world.close()
})
