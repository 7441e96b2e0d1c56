import { entities } from '../sample/entities'
import { importPlaces } from '../sample/import'
import { send } from './client'
import { openWorld, type World } from './world/world'

jest.setTimeout(60_000)

describe('the places of the world', () => {
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

  const get = async (path: string): Promise<List> => (await send(world.url, `GET ${path}`)).json() as List
  const european = '/api/city/?country__region=Europe&population__gte=1000000&ordering=-population'

  test("Europe's five largest cities, in one statement", async () => {
    world.statements()
    const { objects } = await get(`${european}&limit=5`)
    expect(objects.map(({ name }) => name)).toEqual(['Moscow', 'London', 'Saint Petersburg', 'Berlin', 'Madrid'])
    expect(world.statements()).toHaveLength(1)
  })

  test('following next visits every match once', async () => {
    const seen: City[] = []
    for (let path = `${european}&limit=5`; path !== ''; ) {
      const { meta, objects } = await get(path)
      seen.push(...objects)
      path = meta.next
    }
    const whole = await get(`${european}&limit=1000`)
    expect(seen).toEqual(whole.objects)
    expect(new Set(seen.map(({ id }) => id)).size).toBe(38)
    expect(seen.every(({ population }) => population >= 1_000_000)).toBe(true)
  })

  test('borders and languages are imported', async () => {
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

interface List {
  readonly meta: { readonly next: string }
  readonly objects: readonly City[]
}
