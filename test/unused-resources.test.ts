import { setTimeout } from 'node:timers/promises'
import Koa from 'koa'
import { DataSource, type DataSourceOptions, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { mountResources, Resource } from 'typeorm-resources'
import { loadCopy } from './support/package-copy'

/** Warnings about classes with `@Resource` that no mounted data source has as an entity. */

@Entity()
@Resource()
class Mounted {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource()
class Later {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource()
class Forgotten {
  @PrimaryGeneratedColumn() id!: number
}

@Resource()
class WithoutEntity {
  id!: number
}

const warnings: string[] = []
const opened: DataSource[] = []
afterAll(() => Promise.all(opened.map((dataSource) => dataSource.destroy())))

const newDataSource = (entities: DataSourceOptions['entities']): DataSource => {
  const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:', entities: entities ?? [] })
  const { logger } = dataSource
  logger.log = (level, message) => void warnings.push(`${level} ${message}`)
  opened.push(dataSource)
  return dataSource
}

test('classes with @Resource that no mounted data source has are reported once, when all of them are initialized', async () => {
  const first = newDataSource([Mounted, WithoutEntity])
  const second = newDataSource([Later])
  mountResources(new Koa(), first)
  // Another package may mount its data source with its own copy of this package.
  loadCopy().mountResources(new Koa(), second)
  await first.initialize()
  await setTimeout(2200)
  expect(warnings).toEqual([])
  await second.initialize()
  const third = newDataSource([Mounted])
  mountResources(new Koa(), third)
  await third.initialize()
  await setTimeout(2200)
  const warningFor = (name: string): string =>
    `warn typeorm-resources: ${name} has @Resource, but no mounted data source has it as an entity: add ${name} to "entities", with @Entity()`
  expect(warnings).toEqual([warningFor('Forgotten'), warningFor('WithoutEntity')])
  void Forgotten
})
