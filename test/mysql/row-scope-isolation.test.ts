import { BeforeUpdate, Column, Entity, ManyToOne, PrimaryColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

/** A right that is revoked during a write: at REPEATABLE READ, the transaction of the write would not see it. */

let whileUpdating: () => Promise<unknown> = async () => undefined

@Entity()
class Folder {
  @PrimaryColumn() id!: number
  @Column({ type: 'integer' }) reader!: number
}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: (me) => ({ folder__reader: me.id }) })
class Doc {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) title!: string
  @ManyToOne(() => Folder, { nullable: false }) folder!: Relation<Folder>
  @BeforeUpdate() wait(): Promise<unknown> {
    return whileUpdating()
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Folder, Doc] })
  await world.dataSource.getRepository(Folder).save([{ id: 1, reader: 1 }])
  await world.dataSource.getRepository(Doc).save([{ id: 1, title: 'old', folder: { id: 1 } }])
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

test('Row scopes: a right that is revoked during an update no longer counts', async () => {
  whileUpdating = () => world.sql('UPDATE "folder" SET "reader" = 2')
  const reply = await send(world.url, 'PUT /api/doc/1/', { body: { title: 'new' } })
  expect([reply.status, await world.sql('SELECT "title" FROM "doc"')]).toEqual([403, [{ title: 'old' }]])
})
