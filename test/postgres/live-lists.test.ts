import { setTimeout } from 'node:timers/promises'
import { openLiveWorld, Project, Task } from '../support/live-world'

/** Live lists on PostgreSQL (specification: Live lists). */

test('a reading that waited for a lock does not delay the next one', async () => {
  const world = await openLiveWorld()
  const { dataSource } = world
  const { identifiers } = await dataSource.getRepository(Task).insert({ title: 'one', project: { id: 1 } })
  const reader = await world.watch('task/?fields=title')
  expect((await reader.take(1)).length).toBe(1)
  const runner = dataSource.createQueryRunner()
  await runner.startTransaction()
  await runner.query(`LOCK TABLE ${dataSource.getMetadata(Task).tablePath} IN ACCESS EXCLUSIVE MODE`)
  // Row scopes depend on projects, and a query builder does not tell which record has changed: the whole list is read.
  await dataSource.createQueryBuilder().update(Project).set({ name: 'changed' }).execute()
  await setTimeout(1500)
  await runner.rollbackTransaction()
  await runner.release()
  await world.request(`PATCH task/${identifiers[0]?.['id']}/`, { title: 'two' })
  expect((await reader.take(1)).map(([name]) => name)).toEqual(['updated'])
  await dataSource.createQueryBuilder().update(Task).set({ title: 'three' }).execute()
  expect((await reader.take(1, 5000)).map(([name]) => name)).toEqual(['updated'])
  await world.close()
})
