import { Presets, SingleBar } from 'cli-progress'
import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm'
import { hashPassword } from 'typeorm-resources'
import { City, Country, Language, User, Visit } from './entities'
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
  const places = readPlaces()
  const bar = new SingleBar(
    // A person who stops the import gets the terminal back as it was.
    { format: 'Importing {bar} {value} of {total} rows', linewrap: true, hideCursor: false },
    Presets.shades_classic,
  )
  const pairs = (name: 'languages' | 'borders', column: string): readonly ObjectLiteral[] =>
    places.countries.flatMap((country) => country[name].map((id) => ({ [owner(name)]: country.id, [column]: id })))
  const languages = pairs('languages', 'languageId')
  const borders = pairs('borders', 'countryId_2')
  bar.start([places.languages, places.countries, places.cities, languages, borders].flat().length, 0)

  const insert = async (target: EntityTarget<ObjectLiteral>, rows: readonly ObjectLiteral[]): Promise<void> => {
    for (let start = 0; start < rows.length; start += chunk) {
      const some = rows.slice(start, start + chunk)
      await manager.createQueryBuilder().insert().into(target).values(some).updateEntity(false).execute()
      bar.increment(some.length)
    }
  }
  await insert(Language, places.languages)
  await insert(
    Country,
    places.countries.map(({ languages: _, borders: __, ...country }) => country),
  )
  await insert('country_languages_language', languages)
  await insert('country_borders_country', borders)
  await insert(City, places.cities)
  bar.stop()

  const users = accounts.map(async (account) => ({ ...account, password: await hashPassword(account.password) }))
  await manager.insert(User, await Promise.all(users))
  await manager.insert(
    Visit,
    visits.map(({ user, city, ...visit }) => ({
      ...visit,
      visited: new Date(visit.visited),
      user: { id: user },
      city: { id: city },
    })),
  )
  return places.cities.length
}

function owner(name: 'languages' | 'borders'): string {
  return name === 'languages' ? 'countryId' : 'countryId_1'
}
