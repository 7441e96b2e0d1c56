import { entities } from '../sample/entities'
import { importPlaces } from '../sample/import'
import { readPage, readPages } from './support/pages'
import { openWorld, type World } from './world/world'

describe("the sample's data set", () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities,
      seed: async (dataSource) => {
        expect(await dataSource.transaction(importPlaces)).toBe(135_233)
      },
    })
  })
  afterAll(() => world.close())

  const european = '/api/city/?country__region=Europe&population__gte=1000000&ordering=-population'

  test('one statement finds the five largest cities of Europe', async () => {
    world.statements()
    const { objects } = await readPage<City>(world.url, `${european}&limit=5`)
    expect(objects.map(({ name }) => name)).toEqual(['Moscow', 'London', 'Saint Petersburg', 'Berlin', 'Madrid'])
    expect(world.statements()).toHaveLength(1)
  })

  test('following the next links visits every record once', async () => {
    const pages = await readPages<City>(world.url, `${european}&limit=5`)
    const seen = pages.flatMap(({ objects }) => objects)
    const whole = await readPage<City>(world.url, `${european}&limit=1000`)
    expect(seen).toEqual(whole.objects)
    expect(new Set(seen.map(({ id }) => id)).size).toBe(38)
    expect(seen.every(({ population }) => population >= 1_000_000)).toBe(true)
  })

  test('the borders and languages of countries are imported', async () => {
    const count = async (table: string): Promise<unknown> =>
      (await world.dataSource.query(`SELECT COUNT(*) AS "count" FROM "${table}"`))[0].count
    expect(await count('country')).toBe(250)
    expect(await count('country_languages_language')).toBeGreaterThan(350)
    expect(await count('country_borders_country')).toBeGreaterThan(600)
  })
})

interface City {
  readonly id: number
  readonly name: string
  readonly population: number
}
