/** Type tests of the client: code that must compile, and code that must not. Only the compiler reads this file. */

import { createClient, type Excluding, type FiltersOf, type IncludesOf, type RecordOf } from 'typeorm-resources/client'
import type { City, Country, User, Visit } from '../../sample/entities'

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

enum Level {
  Low,
  High,
}

/** Has a key that is not called `id`; as a resource, it is not an embedded entity. */
interface Maker {
  code: string
  shelves: Shelf[]
}

interface Crate {
  id: string
  serial: bigint
  level: Level
  tag: string & { readonly brand: 'tag' }
  packed?: Date
  maker: Maker | null
  shelf?: Promise<Shelf>
  owner: User
  ownerId: number
  meta: Record<string, string>
  whatever: ReturnType<typeof JSON.parse>
}

const api = createClient<{
  city: City
  country: Country
  visit: Visit
  user: Excluding<User, 'password' | 'email'>
  shelf: Shelf
  maker: Maker
  crate: Crate
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

  await api.visit.list({ city__country__borders__name: 'Spain', city__country__languages__id__in: [1] })
  await api.visit.list({ city__country__borders__name: 'Spain' }, { ordering: ['-visited', 'city_id'] })
  await api.visit.list({}, { ordering: ['city__country__name__nullslast', '-city__population', 'visited__nullsfirst'] })
  await api.visit.list({ city: 5, city_id__in: [1, 2], visited__gte: new Date(), user__username: 'ann' })
  await api.country.list({ landlocked: true, capital__is: 'null', landlocked__is: false })
  await api.shelf.list({ kind__in: ['oak'], weight__lt: 5, place__room: 'hall', place__since__gte: '2024-01-01' })
  await api.shelf.list({ data__is: 'null', tags__is: 'not_null', id: 'A17', place__is: 'null' })
  await api.shelf.list(
    { parts__name: 'Lisbon', sealed: false, code__like: 'A%' },
    { ordering: ['weight', '-place__room'] },
  )

  const shelf = await api.shelf.get('A17')
  holds<Same<(typeof shelf)['weight'], number | null>>()
  holds<Same<(typeof shelf)['place']['since'], string>>()
  holds<Same<(typeof shelf)['id'], string | number>>()
  // @ts-expect-error: binary columns are not shown
  shelf.cover
  // @ts-expect-error: nor are methods
  shelf.describe
  // @ts-expect-error: nor relations to many
  shelf.parts

  const user = await api.user.get(1)
  holds<Same<(typeof user)['username'], string>>()
  await api.user.list({ username__like: 'a%' }, { ordering: '-username' })
  // @ts-expect-error: it is excluded
  user.password
}

export async function crates(): Promise<void> {
  const crate = await api.crate.get('c1')
  holds<Same<(typeof crate)['serial'], number | string>>()
  holds<Same<(typeof crate)['packed'], string | null>>()
  holds<Same<(typeof crate)['maker_id'], number | string | null>>()
  holds<Same<(typeof crate)['shelf_id'], number | string | null>>()
  holds<Same<(typeof crate)['owner_id'], number>>()
  // @ts-expect-error: the property of a foreign key is known as owner_id
  crate.ownerId
  // @ts-expect-error: a resource is no embedded entity
  crate.maker
  await api.crate.list({ serial__gt: 5n, level: Level.Low, level__in: [Level.High], packed__lt: '2024-01-01' })
  await api.crate.list({ maker: 'm', maker_id__in: ['m'], maker__code__like: 'm%', maker__id: 'm', maker__is: 'null' })
  await api.crate.list({ maker__shelves__place__room: 'hall', shelf__parts__country__name: 'Peru' })
  await api.crate.list({ meta__is: 'null', whatever: 5, whatever__like: 'a%', tag__is: 'null' })
  await api.crate.create({ serial: 2n ** 60n, level: Level.High, packed: null, maker_id: null, owner_id: 1 })
  await api.crate.update('c1', crate)
  const tag = crate.tag
  await api.crate.list({ tag, tag__in: [tag], tag__gte: tag })
  // @ts-expect-error: not a member of the enumeration
  await api.crate.list({ tag: 'free' })
  // @ts-expect-error: a field that another resource hides is hidden through a relation too
  await api.crate.list({ owner__password__like: '$%' })
  // @ts-expect-error: members of an enumeration have no order
  await api.crate.list({ level__gt: Level.Low })
  // @ts-expect-error: JSON can only be null or not
  await api.crate.list({ meta__colour: 'red' })
}

/** Filters that are built before they are used. */
export async function prepared(region: string | undefined, isLarge: boolean): Promise<void> {
  const filters: FiltersOf<City> = { country__region: region }
  await api.city.list(filters)
  await api.city.list({ country__region: region, ...(isLarge && { population__gte: 1_000_000 }) })
  // @ts-expect-error: a misspelt name, in what was spread
  await api.city.list({ ...(isLarge && { populaton__gte: 1_000_000 }) })
  // @ts-expect-error: a value of another type
  const wrong: FiltersOf<City> = { population: region }
  await api.city.list(wrong)
}

export async function groups(region: string, isLarge: boolean): Promise<void> {
  await api.city.list({
    name__like: 'A%',
    or: [{ country__region: region }, { population__gte: 1_000_000, not: { name: 'Lima' } }],
    and: [{ or: [{ id: 1 }, { id__in: [2, 3] }] }],
    not: { country__is: 'null' },
  })
  const filters: FiltersOf<City> = { or: [{ population__gt: 5 }, { ...(isLarge && { name: 'Lima' }) }] }
  await api.city.list(filters)
  const { meta } = await api.city.list({}, { limit: 0, count: 'exact' })
  holds<Same<typeof meta.total, number | undefined>>()
  // @ts-expect-error: a misspelt field in a group
  await api.city.list({ or: [{ populaton: 5 }] })
  // @ts-expect-error: a value of another type in a group
  await api.city.list({ or: [{ id: 1 }, { population__gte: 'many' }] })
  // @ts-expect-error: a misspelt field in a group within another one
  await api.city.list({ or: [{ not: { nam: 'Lima' } }] })
  // @ts-expect-error: a group is an array
  await api.city.list({ or: { id: 1 } })
  // @ts-expect-error: the operand of `not` is a group
  await api.city.list({ not: [{ id: 1 }] })
  await api.city.list({}, { search: 'new york' })
  // @ts-expect-error: not a text
  await api.city.list({}, { search: 5 })
  const { objects } = await api.city.list({}, { fields: ['name', 'country_id'] })
  holds<Same<keyof (typeof objects)[number], 'id' | 'name' | 'country_id'>>()
  const selected = await api.city.get(1, { fields: ['population'] })
  holds<Same<typeof selected, Pick<RecordOf<City>, 'id' | 'population'>>>()
  // @ts-expect-error: not a field
  await api.city.get(1, { fields: ['nam'] })
  // @ts-expect-error: a field that is not selected
  await api.city.get(1, { fields: ['name'] }).then(({ population }) => population)
  // @ts-expect-error: not a way to count
  await api.city.list({}, { count: 'all' })
}

export async function streams(region: string): Promise<void> {
  for await (const city of api.city.stream({ country__region: region, or: [{ id: 1 }] }, { ordering: '-population' })) {
    holds<Same<typeof city, RecordOf<City>>>()
  }
  const options = {
    fields: ['name', 'country_id'],
    limit: 5,
    search: 'new',
    signal: new AbortController().signal,
  } as const
  for await (const city of api.city.stream({}, options)) {
    holds<Same<keyof typeof city, 'id' | 'name' | 'country_id'>>()
    // @ts-expect-error: a field that is not selected
    city.population
  }
  // @ts-expect-error: a misspelt filter
  api.city.stream({ populaton: 5 })
  // @ts-expect-error: not a field
  api.city.stream({}, { fields: ['nam'] })
  // @ts-expect-error: a hidden field
  api.user.stream({}, { ordering: 'password' })
  // @ts-expect-error: a stream has no related records
  api.city.stream({}, { include: { country: true } })
  // @ts-expect-error: nor pages
  api.city.stream({}, { page: 2 })
  // @ts-expect-error: nor a total
  api.city.stream({}, { count: 'exact' })
}

export async function watches(region: string): Promise<void> {
  for await (const cities of api.city.watch(
    { country__region: region, or: [{ id: 1 }] },
    { ordering: '-population' },
  )) {
    holds<Same<typeof cities, readonly RecordOf<City>[]>>()
  }
  const include = { country: { fields: ['region'] } } as const
  const options = { fields: ['name'], limit: 5, search: 'new', include, signal: new AbortController().signal } as const
  for await (const [city] of api.city.watch({}, options)) {
    holds<Same<NonNullable<typeof city>['country'], { readonly id: number; readonly region: string } | null>>()
    // @ts-expect-error: a field that is not selected
    city?.population
  }
  // @ts-expect-error: a misspelt filter
  api.city.watch({ populaton: 5 })
  // @ts-expect-error: a hidden field
  api.user.watch({}, { ordering: 'password' })
  // @ts-expect-error: no relation
  api.city.watch({}, { include: { contry: true } })
  // @ts-expect-error: a watched list has no pages
  api.city.watch({}, { page: 2 })
}

export async function aggregates(): Promise<void> {
  const { objects, meta } = await api.city.aggregate(
    { country__region: 'Europe' },
    {
      functions: ['count', 'population__sum', 'population__avg', 'name__count_distinct'],
      by: ['country__name', 'country_id'],
      having: { count__gte: 2, population__sum__lt: 5n, population__avg__gt: 1.5 },
      ordering: ['-population__sum', 'country__name'],
      limit: 5,
      page: 2,
    },
  )
  holds<Same<typeof meta.next, string>>()
  const group = objects[0] as (typeof objects)[number]
  holds<Same<(typeof group)['count'], number>>()
  holds<Same<(typeof group)['population__sum'], number | null>>()
  holds<Same<(typeof group)['population__avg'], number | null>>()
  holds<Same<(typeof group)['name__count_distinct'], number>>()
  holds<Same<(typeof group)['country__name'], string | null>>()
  holds<Same<(typeof group)['country_id'], number>>()
  // @ts-expect-error: a name that is not in the request
  group.name

  const visits = await api.visit.aggregate(
    {},
    { functions: ['visited__max', 'rating__min'], by: ['visited__week'], having: { visited__max__gte: new Date() } },
  )
  holds<Same<(typeof visits.objects)[number]['visited__max'], string | null>>()
  holds<Same<(typeof visits.objects)[number]['visited__week'], string>>()
  const shelves = await api.shelf.aggregate({}, { functions: ['weight__sum'], by: ['kind', 'place__room', 'sealed'] })
  holds<Same<(typeof shelves.objects)[number]['kind'], 'oak' | 'pine'>>()
  holds<Same<(typeof shelves.objects)[number]['place__room'], string>>()
  const crates = await api.crate.aggregate(
    {},
    { functions: ['serial__sum'], by: ['maker', 'maker__code', 'packed__day'] },
  )
  holds<Same<(typeof crates.objects)[number]['serial__sum'], number | string | null>>()
  holds<Same<(typeof crates.objects)[number]['maker'], number | string | null>>()
  holds<Same<(typeof crates.objects)[number]['maker__code'], string | null>>()
  holds<Same<(typeof crates.objects)[number]['packed__day'], string | null>>()
  const total = await api.city.aggregate({}, { functions: ['count'] })
  holds<Same<keyof (typeof total.objects)[number], 'count'>>()

  // @ts-expect-error: a misspelt field
  await api.city.aggregate({}, { functions: ['populaton__sum'] })
  const related = await api.visit.aggregate(
    {},
    { functions: ['city__country__area__sum'], by: ['city__country__name'] },
  )
  holds<Same<(typeof related.objects)[number]['city__country__area__sum'], number | null>>()
  // @ts-expect-error: a misspelt field of a related record
  await api.visit.aggregate({}, { functions: ['city__country__aera__sum'] })
  // @ts-expect-error: there is no such field
  await api.city.aggregate({}, { functions: ['nmae__max'] })
  // @ts-expect-error: a relation to many has no values
  await api.country.aggregate({}, { functions: ['languages__name__min'] })
  // @ts-expect-error: there is no such field
  await api.visit.aggregate({}, { functions: ['count'], by: ['visted__month'] })
  // @ts-expect-error: no function of booleans
  await api.country.aggregate({}, { functions: ['landlocked__sum'] })
  // @ts-expect-error: a field without a function
  await api.city.aggregate({}, { functions: ['population'] })
  // @ts-expect-error: not a date
  await api.city.aggregate({}, { functions: ['count'], by: ['population__week'] })
  // @ts-expect-error: a date-time needs a date part
  await api.visit.aggregate({}, { functions: ['count'], by: ['visited'] })
  // @ts-expect-error: a hidden field
  await api.visit.aggregate({}, { functions: ['count'], by: ['user__password'] })
  // @ts-expect-error: a relation to many
  await api.country.aggregate({}, { functions: ['count'], by: ['languages__name'] })
  // @ts-expect-error: a function that is not in the request
  await api.city.aggregate({}, { functions: ['count'], having: { population__sum__gte: 5 } })
  // @ts-expect-error: a value of another type
  await api.city.aggregate({}, { functions: ['count'], having: { count__gte: 'many' } })
  // @ts-expect-error: a text is not compared with a date-time
  await api.shelf.aggregate({}, { functions: ['code__max'], having: { code__max__lt: new Date() } })
  // @ts-expect-error: an unknown operator
  await api.city.aggregate({}, { functions: ['count'], having: { count__in: 5 } })
  // @ts-expect-error: sorted by a field that is not in the request
  await api.city.aggregate({}, { functions: ['count'], by: ['country'], ordering: 'name' })
  // @ts-expect-error: a misspelt filter
  await api.city.aggregate({ populaton: 5 }, { functions: ['count'] })
}

export async function includes(region: string): Promise<void> {
  const { objects } = await api.city.list({ name: 'Lima' }, { include: { country: true } })
  type CityWithCountry = (typeof objects)[number]
  holds<Same<CityWithCountry['country'], RecordOf<Country> | null>>()
  holds<Same<CityWithCountry['country_id'], number>>()
  holds<Same<keyof CityWithCountry, keyof RecordOf<City> | 'country'>>()

  const { languages, languages_next, borders_total, borders } = await api.country.get(1, {
    include: {
      languages: true,
      borders: {
        limit: 5,
        ordering: ['-name', 'id'],
        count: 'exact',
        search: 'land',
        where: { region, area__gte: 5, or: [{ name: 'Spain' }, { languages__code__in: ['por'], not: { id: 1 } }] },
        fields: ['id', 'name'],
        include: { languages: { fields: ['code'] } },
      },
    },
  })
  holds<Same<typeof languages_next, string | null>>()
  holds<Same<typeof borders_total, number>>()
  holds<Same<keyof (typeof borders)[number], 'id' | 'name' | 'languages' | 'languages_next'>>()
  holds<Same<keyof (typeof borders)[number]['languages'][number], 'id' | 'code'>>()
  holds<Same<(typeof languages)[number]['name'], string>>()

  for await (const crate of api.crate.all(
    {},
    { fields: ['level'], include: { shelf: true, owner: true, maker: {} } },
  )) {
    holds<Same<typeof crate.level, Level>>()
    holds<Same<NonNullable<typeof crate.shelf>['weight'], number | null>>()
    // @ts-expect-error: the field is hidden
    crate.owner?.password
    // @ts-expect-error: a row scope or soft deletion may hide the record
    crate.owner.username
  }
  const made = await api.visit.create({ city_id: 1 }, { include: { city: { fields: ['name'] } } })
  holds<Same<NonNullable<typeof made.city>, { readonly id: number; readonly name: string }>>()
  const { city } = await api.visit.update(1, { rating: 5 }, { include: { city: true }, ifMatch: '"x"' })
  holds<Same<typeof city, RecordOf<City> | null>>()

  // Built before it is used.
  const prepared = { borders: { fields: ['name'], where: { area__gt: 5 } } } satisfies IncludesOf<Country>
  const { borders: names } = await api.country.get(1, { include: prepared })
  holds<Same<keyof (typeof names)[number], 'id' | 'name'>>()
  const { languages: none } = await api.country
    .get(1, { include: {} })
    .then((country) => ({ languages: [], ...country }))
  holds<Same<typeof none, never[]>>()
}

export async function wrongIncludes(): Promise<void> {
  // @ts-expect-error: not a relation
  await api.city.list({}, { include: { contry: true } })
  // @ts-expect-error: not a relation, next to one
  await api.city.list({}, { include: { country: true, name: true } })
  // @ts-expect-error: the name of the relation, not of the foreign key
  await api.city.get(1, { include: { country_id: true } })
  // @ts-expect-error: not a parameter
  await api.country.list({}, { include: { borders: { page: 2 } } })
  // @ts-expect-error: not a parameter, next to one
  await api.country.list({}, { include: { borders: { limit: 2, page: 2 } } })
  // @ts-expect-error: a relation to one record is not a list
  await api.city.list({}, { include: { country: { limit: 5 } } })
  // @ts-expect-error: nor filtered
  await api.city.list({}, { include: { country: { fields: ['name'], where: { name: 'Peru' } } } })
  // @ts-expect-error: not a field
  await api.city.list({}, { include: { country: { fields: ['nam'] } } })
  // @ts-expect-error: not a field that is shown
  await api.visit.list({}, { include: { user: { fields: ['id', 'password'] } } })
  // @ts-expect-error: not a field to sort by
  await api.country.list({}, { include: { borders: { ordering: 'size' } } })
  // @ts-expect-error: not a way to count
  await api.country.list({}, { include: { borders: { count: 'capped' } } })
  // @ts-expect-error: not a filter
  await api.country.list({}, { include: { borders: { where: { nam: 'Peru' } } } })
  // @ts-expect-error: not a filter, next to one
  await api.country.list({}, { include: { borders: { where: { name: 'Peru', nam: 'Peru' } } } })
  // @ts-expect-error: a value of another type
  await api.country.list({}, { include: { borders: { where: { area__gt: 'many' } } } })
  // @ts-expect-error: not a filter, in a group
  await api.country.list({}, { include: { borders: { where: { or: [{ name: 'Peru' }, { id: 5, nam: 'Peru' }] } } } })
  // @ts-expect-error: not a relation of the related record
  await api.country.list({}, { include: { borders: { include: { languages: true, cities: true } } } })
  // @ts-expect-error: a relation is included or not named
  await api.city.list({}, { include: { country: false } })
  // @ts-expect-error: included relations have names
  await api.city.list({}, { include: ['country'] })
  // @ts-expect-error: not a relation
  await api.visit.create({}, { include: { town: true } })
  // @ts-expect-error: not a relation
  await api.visit.update(1, {}, { include: { city: { include: { town: true } } } })
  const record = await api.country.get(1, { include: { borders: { limit: 5 } } })
  // @ts-expect-error: not counted
  record.borders_total
  // @ts-expect-error: not included
  record.languages
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
  // @ts-expect-error: excluded fields have no filters
  await api.user.list({ email: 'ann@example.org' })
  // @ts-expect-error: nor sorted by
  await api.user.list({}, { ordering: 'password' })
  // @ts-expect-error: no such field to sort by
  await api.city.list({}, { ordering: 'size' })
  // @ts-expect-error: an embedded entity is no field to sort by
  await api.shelf.list({}, { ordering: 'place' })
  // @ts-expect-error: nor is an array
  await api.shelf.list({}, { ordering: '-tags' })
  // @ts-expect-error: a field that the related record does not have
  await api.city.list({}, { ordering: 'country__nme' })
  // @ts-expect-error: a relation to many has no order
  await api.country.list({}, { ordering: 'borders__name' })
  // @ts-expect-error: an unknown operator
  await api.city.list({ population__above: 5 })
  // @ts-expect-error: a list of members
  await api.city.list({ population__in: 5 })
  // @ts-expect-error: the operator for null is `is`
  await api.country.list({ capital: null })
  // @ts-expect-error: arrays are not compared
  await api.shelf.list({ tags__eq: 'a' })
  // @ts-expect-error: four relations
  await api.visit.list({ city__country__borders__languages__name: 'French' })
  // @ts-expect-error: a relation to many is no field
  await api.country.list({ languages: 5 })
  // @ts-expect-error: filters have names
  await api.city.list('name=Lisbon')
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

export async function manyWrites(region: string): Promise<void> {
  const made = await api.visit.createMany([{ city_id: 1, visited: new Date() }, { rating: 5 }])
  holds<Same<typeof made, readonly RecordOf<Visit>[]>>()
  const filters = { city__country__region: region, or: [{ rating__lt: 2 }, { not: { user: 1 } }] }
  const updated = await api.visit.updateMany(filters, { rating: 3, visited: new Date() }, { max: 50 })
  holds<Same<typeof updated, number>>()
  const deleted = await api.visit.deleteMany({ id__in: [1, 2] }, { signal: new AbortController().signal })
  holds<Same<typeof deleted, number>>()
  await api.city.deleteMany({}, { search: 'new york' })
  // @ts-expect-error: one record
  await api.visit.createMany({ rating: 5 })
  // @ts-expect-error: a value of another type
  await api.visit.createMany([{ rating: 5 }, { rating: 'five' }])
  // @ts-expect-error: a misspelt field
  await api.visit.createMany([{ raiting: 5 }])
  // @ts-expect-error: a misspelt filter
  await api.city.deleteMany({ populaton: 5 })
  // @ts-expect-error: filters are required
  await api.city.deleteMany()
  // @ts-expect-error: a filter of another type
  await api.city.updateMany({ population__gte: 'many' }, { population: 5 })
  // @ts-expect-error: a value of another type
  await api.city.updateMany({ id: 1 }, { population: 'many' })
  // @ts-expect-error: a hidden field has no filter
  await api.user.updateMany({ email: 'ann@example.org' }, { email: 'ann@example.com' })
  // @ts-expect-error: not a page
  await api.city.deleteMany({ id: 1 }, { limit: 5 })
}

/** Related records and keys of related records in bodies. */
export async function nestedWrites(): Promise<void> {
  await api.maker.create({
    code: 'm',
    shelves: [{ code: 'A1', place: { room: 'hall' }, parts: [{ name: 'x', country_id: 1 }] }, { id: 'A2' }],
  })
  await api.country.create({ name: 'Peru', language_ids: [1, 2], border_ids: [] })
  await api.maker.update('m', { shelve_ids: ['A1', 2] })
  await api.maker.createMany([{ shelves: [] }])
  await api.maker.update('m', await api.maker.get('m', { include: { shelves: true } }))
  // @ts-expect-error: a misspelt field of a related record
  await api.maker.create({ shelves: [{ cod: 'A1' }] })
  // @ts-expect-error: a value of another type
  await api.maker.create({ shelves: [{ weight: 'heavy' }] })
  // @ts-expect-error: an array
  await api.maker.create({ shelves: { code: 'A1' } })
  // @ts-expect-error: keys of another type
  await api.country.create({ language_ids: ['por'] })
  // @ts-expect-error: keys of a relation to one
  await api.city.create({ country_ids: [1] })
}

export async function upserts(): Promise<void> {
  const { record, created } = await api.city.upsert({ name: 'Lima', population: 5 }, { on: ['name', 'country_id'] })
  holds<Same<typeof created, boolean>>()
  holds<Same<typeof record, RecordOf<City>>>()
  const { record: visit } = await api.visit.upsert({ rating: 5 }, { on: 'id', include: { city: true } })
  holds<Same<(typeof visit)['city'], RecordOf<City> | null>>()
  const { created: count, ids } = await api.city.upsertMany([{ name: 'Lima' }], { on: 'name', idempotencyKey: 'x' })
  holds<Same<typeof count, number>>()
  holds<Same<typeof ids, readonly number[]>>()
  // @ts-expect-error: the fields are required
  await api.city.upsertMany([{ name: 'Lima' }])
  // @ts-expect-error: the fields are required
  await api.city.upsert({ name: 'Lima' })
  // @ts-expect-error: a misspelt field
  await api.city.upsert({ name: 'Lima' }, { on: 'nam' })
  // @ts-expect-error: a misspelt field among others
  await api.city.upsert({ name: 'Lima' }, { on: ['name', 'nam'] })
  // @ts-expect-error: a value of another type
  await api.city.upsert({ name: 5 }, { on: 'name' })
}

export async function batches(names: readonly string[]): Promise<void> {
  const results = await api.$batch(({ country, city, visit, maker, user }) => {
    const peru = country.create({ name: 'Peru', landlocked: false })
    const lima = city.create({ name: 'Lima', country_id: peru.ref('id'), population: 5 })
    return [
      peru,
      lima,
      city.createMany([{ name: 'Cusco', country_id: peru.ref('id') }]),
      city.updateMany({ country__name: 'Peru' }, { name: lima.ref('name') }, { max: 5 }),
      visit.upsert({ rating: 5, city_id: lima.ref('id') }, { on: 'id' }),
      visit.delete(1, { ifMatch: '"x"' }),
      visit.deleteMany({ city__country__region: 'Europe' }),
      maker.create({ shelves: [{ code: lima.ref('name'), place: { room: 'hall', since: new Date() } }] }),
      country.update(1, { language_ids: [peru.ref('id'), 5], landlocked: peru.ref('landlocked') }),
      user.update(1, { password: 'correct horse' }),
    ]
  })
  holds<Same<(typeof results)[0], RecordOf<Country>>>()
  holds<Same<(typeof results)[1], RecordOf<City>>>()
  holds<Same<(typeof results)[2], readonly RecordOf<City>[]>>()
  holds<Same<(typeof results)[3], number>>()
  holds<Same<(typeof results)[4]['record'], RecordOf<Visit>>>()
  holds<Same<(typeof results)[5], void>>()
  holds<Same<(typeof results)['length'], 10>>()
  const made = await api.$batch(({ city }) => names.map((name) => city.create({ name })))
  holds<Same<(typeof made)[number], RecordOf<City>>>()

  await api.$batch(({ city, country, user, crate }) => {
    const peru = country.create({})
    crate.create({ maker_id: peru.ref('name'), packed: null })
    // @ts-expect-error: a misspelt field
    city.create({ nam: 'Lima' })
    // @ts-expect-error: a value of another type
    city.create({ name: 5 })
    // @ts-expect-error: no field of the record
    peru.ref('nam')
    // @ts-expect-error: a reference to a value of another type
    city.create({ population: peru.ref('name') })
    // @ts-expect-error: a reference to a value that may be null
    city.create({ name: peru.ref('capital') })
    // @ts-expect-error: a hidden field
    user.create({}).ref('password')
    // @ts-expect-error: a reference in a request that is not part of the batch
    api.city.create({ name: peru.ref('name') })
    // @ts-expect-error: several records
    city.createMany([{}]).ref('id')
    // @ts-expect-error: not a write
    city.list()
    // @ts-expect-error: an id is in the path of the operation
    city.update(peru.ref('id'), {})
    // @ts-expect-error: a misspelt filter
    city.deleteMany({ populaton: 5 })
    return [peru]
  })
  // @ts-expect-error: operations, not requests
  await api.$batch(() => [api.city.delete(1)])
}

export function credentials(): void {
  createClient('/api', { token: 'x', retries: 1 })
  createClient('/api', { token: () => (Math.random() < 0.5 ? null : 'x') })
  createClient('/api', { token: async (rejected) => (rejected === undefined ? 'x' : undefined) })
  createClient('/api', { apiKey: 'x', headers: {} })
  // @ts-expect-error: credentials of two schemes
  createClient('/api', { username: 'ann', password: 'ann', token: 'x' })
  // @ts-expect-error: credentials of two schemes
  createClient('/api', { token: 'x', apiKey: 'x' })
  // @ts-expect-error: a key does not expire
  createClient('/api', { apiKey: () => 'x' })
}
