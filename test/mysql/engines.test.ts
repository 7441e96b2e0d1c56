import { setTimeout } from 'node:timers/promises'
import Koa from 'koa'
import { ChildEntity, Column, Entity, PrimaryGeneratedColumn, TableInheritance } from 'typeorm'
import { mountResources, type ResourceOptions } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { dropDatabase } from '../world/leg'
import { openDataSource, openWorld } from '../world/world'

/** A storage engine without transactions stores writes that are refused (specification: Row scopes, Permissions). */

@Entity({ engine: 'MyISAM' })
class Legacy {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int' }) company!: number
}

@Entity({ engine: 'myisam' })
@TableInheritance({ column: { type: 'varchar', length: 20, name: 'kind' } })
class Parent {
  @PrimaryGeneratedColumn() id!: number
}

@ChildEntity()
class Child extends Parent {
  @Column({ type: 'int' }) company!: number
}

@Entity()
class Doc {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'int' }) company!: number
}

const withScope: ResourceOptions = { auth: permitAll, scope: () => ({ company: 1 }) }

test('a resource that can be written must have an engine with transactions', async () => {
  await expect(
    openWorld({ entities: [Legacy], mount: { resources: [{ entity: Legacy, ...withScope }] } }),
  ).rejects.toThrow(
    'Legacy: the engine "MyISAM" has no transactions, so that a write that is refused would be stored: use InnoDB, or the read-only rule',
  )
})

test('a class has the engine of the table of its parent', async () => {
  const resources = [{ entity: Child, ...withScope }]
  await expect(openWorld({ entities: [Parent, Child], mount: { resources } })).rejects.toThrow(
    'Child: the engine "myisam" has no transactions',
  )
})

test('a resource that can only be read may have any engine', async () => {
  const world = await openWorld({
    entities: [Legacy],
    mount: { resources: [{ entity: Legacy }] },
    seed: (dataSource) => dataSource.query('INSERT INTO legacy (company) VALUES (1)'),
  })
  expect((await send(world.url, 'GET /api/legacy/')).json()).toMatchObject({ objects: [{ id: 1, company: 1 }] })
  await world.close()
})

test('a mount logs a warning for a table that has an engine without transactions', async () => {
  const logged: string[] = []
  const dataSource = await openDataSource([Doc], undefined, {}, (line) => logged.push(line))
  await dataSource.query('ALTER TABLE doc ENGINE = Aria')
  mountResources(new Koa(), dataSource, { resources: [{ entity: Doc, ...withScope }] })
  while (!logged.some((line) => line.includes('engine without transactions: doc (Aria)'))) await setTimeout(20)
  await dataSource.destroy()
  await dropDatabase(dataSource)
})
