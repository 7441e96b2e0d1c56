import { Presets, SingleBar } from 'cli-progress'
import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm'
import { hashPassword } from 'typeorm-resources'
import { City, Country, entities, Language, User, Visit } from './entities'
import { readPlaces } from './places'

/** Users of the sample, with the passwords that it prints. */
export const accounts = [
  { id: 1, username: 'ann', password: 'ann-secret', email: 'ann@example.org', admin: true },
  { id: 2, username: 'bob', password: 'bob-secret', email: 'bob@example.org', admin: false },
  { id: 3, username: 'eve', password: 'eve-secret', email: 'eve@example.org', admin: false },
] as const

/** GeoNames ids of Berlin, Kyoto, Nairobi and Quito. */
const visits = [
  { user: 2, city: 2950159, rating: 5, note: 'Museums and lakes', visited: '2024-05-17T09:30:00Z' },
  { user: 2, city: 1857910, rating: 4, note: 'Temples in the rain', visited: '2024-11-02T04:00:00Z' },
  { user: 3, city: 184745, rating: 4, note: 'Giraffes behind the office towers', visited: '2025-02-11T13:45:00Z' },
  { user: 3, city: 3652462, rating: 3, note: 'Thin air', visited: '2025-07-29T16:00:00Z' },
] as const

/** Rows of one INSERT. */
const chunk = 1000

/**
 * Fills an empty database, all or nothing: an import that is stopped leaves no trace.
 * @returns how many cities there are
 */
export async function importPlaces(manager: EntityManager): Promise<number> {
  const tables = await readTables()
  const bar = new SingleBar(
    // A person who stops the import gets the terminal back as it was.
    { format: 'Importing {bar} {value} of {total} rows', linewrap: true, hideCursor: false },
    Presets.shades_classic,
  )
  bar.start([...tables.values()].flat().length, 0)
  for (const [target, rows] of tables) {
    // Where the columns are not named, PostgreSQL counts ids of its own.
    const columns = manager.connection.getMetadata(target).columns.map(({ propertyPath }) => propertyPath)
    for (let start = 0; start < rows.length; start += chunk) {
      const some = rows.slice(start, start + chunk)
      await manager.createQueryBuilder().insert().into(target, columns).values(some).updateEntity(false).execute()
      bar.increment(some.length)
    }
  }
  bar.stop()
  await countOn(manager)
  return tables.get(City)?.length ?? 0
}

/** The rows of each table. Those that others refer to come first. */
async function readTables(): Promise<ReadonlyMap<EntityTarget<ObjectLiteral>, readonly ObjectLiteral[]>> {
  const { languages, countries, cities } = readPlaces()
  const spoken = countries.flatMap((country) =>
    country.languages.map((languageId) => ({ countryId: country.id, languageId })),
  )
  const borders = countries.flatMap(({ id, borders }) =>
    borders.map((other) => ({ countryId_1: id, countryId_2: other })),
  )
  const users = accounts.map(async (account) => ({ ...account, password: await hashPassword(account.password) }))
  return new Map<EntityTarget<ObjectLiteral>, readonly ObjectLiteral[]>([
    [Language, languages],
    [Country, countries.map(({ languages: _, borders: __, ...country }) => country)],
    ['country_languages_language', spoken],
    ['country_borders_country', borders],
    [City, cities],
    [User, await Promise.all(users)],
    [Visit, visits.map((visit, index) => ({ ...visit, id: index + 1, visited: new Date(visit.visited) }))],
  ])
}

/** PostgreSQL counts its ids in sequences of their own, which do not notice those that were inserted. */
async function countOn(manager: EntityManager): Promise<void> {
  if (manager.connection.options.type !== 'postgres') return
  for (const { tableName } of entities.map((entity) => manager.connection.getMetadata(entity))) {
    await manager.query(`SELECT setval(pg_get_serial_sequence('"${tableName}"', 'id'), MAX(id)) FROM "${tableName}"`)
  }
}
