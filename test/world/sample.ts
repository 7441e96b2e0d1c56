import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm'
import { hashPassword } from 'typeorm-resources'
import { City, Country, Language, User, Visit } from '../../sample/entities'

/** Inserts a few records of the sample's resources; ann is an administrator, bob is not. */
export async function seedSample(dataSource: DataSource): Promise<void> {
  const save = (entity: EntityTarget<ObjectLiteral>, row: object): Promise<unknown> =>
    dataSource.getRepository(entity).save(dataSource.getRepository(entity).create(row))
  const portuguese = await save(Language, { id: 1, code: 'por', name: 'Portuguese' })
  const place = { region: 'Europe', subregion: 'Southern Europe', landlocked: false }
  const spain = {
    id: 1,
    code: 'ESP',
    name: 'Spain',
    capital: 'Madrid',
    area: 505_992,
    ...place,
    languages: [],
    borders: [],
  }
  await save(Country, spain)
  const portugal = { id: 2, code: 'PRT', name: 'Portugal', capital: null, area: 92_090.5, ...place }
  await save(Country, { ...portugal, languages: [portuguese], borders: [spain] })
  await save(City, {
    id: 1,
    name: 'Lisbon',
    population: 545_796,
    latitude: 38.72,
    longitude: -9.14,
    country: { id: 2 },
  })
  for (const [index, username] of ['ann', 'bob'].entries()) {
    const password = await hashPassword(username)
    await save(User, { id: index + 1, username, password, email: `${username}@example.org`, admin: username === 'ann' })
  }
  for (const id of [1, 2, 3]) {
    await save(Visit, { id, note: `Visit ${id}`, rating: id, city: { id: 1 }, user: { id: id === 3 ? 1 : 2 } })
  }
}
