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

abstract class Entry {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) title!: string
  @ManyToOne(() => Folder, { nullable: false }) folder!: Relation<Folder>
  @BeforeUpdate() wait(): Promise<unknown> {
    return whileUpdating()
  }
}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: (me) => ({ folder__reader: me.id }) })
class Doc extends Entry {}

@Entity()
@Resource({ auth: permitAllAsUser1, may: { update: (me) => ({ folder__reader: me.id }) } })
class Memo extends Entry {}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Folder, Doc, Memo] })
  await world.dataSource.getRepository(Folder).save([{ id: 1, reader: 1 }])
  for (const entity of [Doc, Memo]) {
    await world.dataSource.getRepository<Entry>(entity).save([{ id: 1, title: 'old', folder: { id: 1 } }])
  }
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

test.each([
  ['Row scopes', 'doc'],
  ['Permissions', 'memo'],
])('%s: a right that is revoked during an update no longer counts', async (_, name) => {
  await world.sql('UPDATE "folder" SET "reader" = 1')
  whileUpdating = () => world.sql('UPDATE "folder" SET "reader" = 2')
  const reply = await send(world.url, `PUT /api/${name}/1/`, { body: { title: 'new' } })
  expect([reply.status, await world.sql(`SELECT "title" FROM "${name}"`)]).toEqual([403, [{ title: 'old' }]])
})
