import { ChildEntity, Column, Entity, PrimaryGeneratedColumn, TableInheritance } from 'typeorm'
import { Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { openWorld, type World } from '../world/world'

/** An audit log that shares its table with other entities (specification: Audit log). */

const auth: Rule = () => ({ id: 'ann' })

@Entity()
@Resource({ auth })
class Thing {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

@Entity()
@TableInheritance({ column: { name: 'kind', type: 'varchar', length: 10 } })
@Resource({ auth, bulk: true })
class Log {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 40, nullable: true }) principal!: string | null
}

@ChildEntity('change')
class Entry extends Log {
  @Column({ length: 40, nullable: true }) resource!: string
  @Column({ length: 40, nullable: true }) record!: string
  @Column({ length: 10, nullable: true }) action!: string
  @Column({ type: 'simple-json', nullable: true }) changes!: object
}

@ChildEntity('note')
@Resource({ auth, may: { create: true } })
class LogNote extends Log {
  @Column({ length: 40, nullable: true }) text!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Thing, Log, Entry, LogNote],
    columnOrder: 0,
    mount: { audit: { entity: Entry } },
  })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.close()
})

test('resources of other entities of the table cannot write entries, unless "may" permits it', async () => {
  const write = async (line: string, body?: object) => (await send(world.url, line, { body })).status
  expect(await write('POST /api/thing/', { name: 'a' })).toBe(201)
  expect(await write('PATCH /api/log/1/', { principal: 'bob' })).toBe(405)
  expect(await write('DELETE /api/log/1/')).toBe(405)
  expect(await write('DELETE /api/log/?id=1')).toBe(405)
  expect(await write('POST /api/log/', { principal: 'bob' })).toBe(405)
  expect(await world.dataSource.getRepository(Entry).count()).toBe(1)
  expect(await write('POST /api/lognote/', { text: 'a' })).toBe(201)
})
