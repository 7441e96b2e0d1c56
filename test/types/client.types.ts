/** What compiles against the typed client, and what must not: read by the compiler alone. */

import type { City, Country, User, Visit } from '../../sample/entities'
import { createClient, type Excluding, type RecordOf } from '../../src/client'

interface Shelf {
  code: string
  kind: 'oak' | 'pine'
  weight: number | null
  place: { room: string; since: Date }
  tags: string[]
  sealed: boolean
  data: unknown
  cover: Buffer
  parts: Promise<City[]>
  describe(): string
}

const api = createClient<{
  city: City
  country: Country
  visit: Visit
  user: Excluding<User, 'password' | 'email'>
  shelf: Shelf
}>('http://localhost/api', { username: 'ann', password: 'ann' })

/** Whether two types are the same. */
type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}

export async function reads(): Promise<void> {
  const { objects } = await api.city.list(
    { country__region: 'Europe', population__gte: 1_000_000, name__ilike: 'a%' },
    { ordering: '-population', limit: 5 },
  )
  const [city] = objects
  holds<Same<NonNullable<typeof city>['country_id'], number>>()
  holds<Same<NonNullable<typeof city>['name'], string>>()
  const visit = await api.visit.get(1)
  holds<Same<(typeof visit)['visited'], string>>()
  for await (const each of api.city.all({ country__languages__code: 'por' })) holds<Same<typeof each, RecordOf<City>>>()

  await api.visit.list({ city__country__borders__name: 'Spain' }, { ordering: ['-visited', 'city_id'] })
  await api.visit.list({ city: 5, city_id__in: [1, 2], visited__gte: new Date(), user__username: 'ann' })
  await api.country.list({ landlocked: true, capital__is: 'null', landlocked__is: false })
  await api.shelf.list({ kind__in: ['oak'], weight__lt: 5, place__room: 'hall', place__since__gte: '2024-01-01' })
  await api.shelf.list({ parts__name: 'Lisbon', sealed: false, code__like: 'A%' }, { ordering: 'weight' })

  const shelf = await api.shelf.get('A17')
  holds<Same<(typeof shelf)['weight'], number | null>>()
  holds<Same<(typeof shelf)['place']['since'], string>>()
  holds<Same<(typeof shelf)['id'], string | number>>()
  // @ts-expect-error: binary columns are not shown
  shelf.cover
  // @ts-expect-error: methods are not either
  shelf.describe
  // @ts-expect-error: nor relations to many
  shelf.parts

  const user = await api.user.get(1)
  holds<Same<(typeof user)['username'], string>>()
  await api.user.list({ username__like: 'a%' }, { ordering: '-username' })
  // @ts-expect-error: it is excluded
  user.password
}

export async function wrong(): Promise<void> {
  // @ts-expect-error: a misspelt field
  await api.city.list({ populaton: 5 })
  // @ts-expect-error: numbers are not compared by patterns
  await api.city.list({ population__like: '5%' })
  // @ts-expect-error: a number, not a text
  await api.city.list({ population__gte: 'many' })
  // @ts-expect-error: not a member
  await api.shelf.list({ kind: 'elm' })
  // @ts-expect-error: members of an enumeration have no order
  await api.shelf.list({ kind__lt: 'oak' })
  // @ts-expect-error: a misspelt field of a joined resource
  await api.city.list({ country__regoin: 'Europe' })
  // @ts-expect-error: what is excluded cannot be asked for
  await api.user.list({ email: 'ann@example.org' })
  // @ts-expect-error: nor sorted by
  await api.user.list({}, { ordering: 'password' })
  // @ts-expect-error: no such field to sort by
  await api.city.list({}, { ordering: 'size' })
  // @ts-expect-error: no such resource
  await api.town.list()
  // @ts-expect-error: of another type
  await api.visit.create({ rating: 'five' })
  // @ts-expect-error: by its foreign key
  await api.visit.update(1, { city: 5 })
}

export async function writes(): Promise<void> {
  const made = await api.visit.create({ city_id: 1, rating: 5, visited: new Date() })
  await api.visit.update(made.id, { note: 'again' }, { ifMatch: '"x"' })
  await api.user.update(1, { password: 'correct horse' })
  await api.shelf.create({ code: 'A1', kind: 'pine', weight: null, place: { room: 'hall' }, tags: ['a'] })
  await api.visit.delete(made.id)
}
