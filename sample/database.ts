import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { Country, entities } from './entities'
import { importPlaces } from './import'
import { addChecks, prepareServer, reasonOf, type Store, serverAt } from './server'
import { UserError } from './user-error'

/**
 * Opens the database of a server that DATABASE_URL names, else the file that DATABASE names, and fills it when it is empty.
 * @param isReset whether what the sample has stored there goes first
 */
export async function openDatabase(isReset: boolean): Promise<DataSource> {
  const url = process.env['DATABASE_URL']
  const store = url ? serverAt(url) : file()
  try {
    if (isReset && !url) for (const end of ['', '-wal', '-shm']) rmSync(store.name + end, { force: true })
    const dataSource = await new DataSource(store.options).initialize()
    if (url) await prepareServer(dataSource, isReset)
    await dataSource.synchronize()
    if ((await dataSource.getRepository(Country).count()) === 0) await fill(dataSource, store)
    return dataSource
  } catch (error) {
    throw new UserError(`${store.name} cannot be used as the sample's database: ${reasonOf(error)}`)
  }
}

async function fill(dataSource: DataSource, { name }: Store): Promise<void> {
  const start = performance.now()
  console.log(`Importing the cities into ${name}; this takes up to a minute`)
  const cities = await dataSource.transaction(importPlaces)
  await addChecks(dataSource)
  console.log(`Imported ${cities} cities into ${name} in ${((performance.now() - start) / 1000).toFixed(1)} s`)
}

function file(): Store {
  // Set by typeorm-0.3.ts, whose driver of this name TypeORM 1 has no more.
  const type = process.env['SAMPLE_DRIVER'] === 'sqlite' ? 'sqlite' : 'better-sqlite3'
  const name = type === 'sqlite' ? 'world-0.3.sqlite' : 'world.sqlite'
  const database = process.env['DATABASE'] || join(__dirname, '..', 'data', name)
  const options = {
    type,
    database,
    entities,
    enableWAL: true,
    // With NORMAL, better-sqlite3's default under WAL, a power cut may lose what was acknowledged. That of sqlite3 is FULL.
    prepareDatabase: (connection: { pragma: (text: string) => unknown }) =>
      void connection.pragma('synchronous = FULL'),
  }
  return { name: database, options: options as DataSourceOptions }
}
