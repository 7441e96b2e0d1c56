import {
  ChildEntity,
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { toManyFilters } from '../tables/relations'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Region {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @OneToMany(
    () => Country,
    (country) => country.region,
  )
  countries!: Relation<Country>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1, exclude: ['secrets'] })
class Country {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @ManyToOne(
    () => Region,
    (region) => region.countries,
  )
  region!: Relation<Region> | null
  @ManyToMany(
    () => Language,
    (language) => language.countries,
  )
  @JoinTable()
  languages!: Relation<Language>[]
  @ManyToMany(() => Country) @JoinTable() borders!: Relation<Country>[]
  @ManyToMany(() => Country) @JoinTable({ name: 'country_secrets' }) secrets!: Relation<Country>[]
  @OneToOne(
    () => Flag,
    (flag) => flag.country,
  )
  flag!: Relation<Flag>
  @OneToMany(
    () => City,
    (city) => city.country,
  )
  cities!: Relation<City>[]
  @OneToMany(
    () => Spy,
    (spy) => spy.country,
  )
  spies!: Relation<Spy>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1, exclude: ['canary'] })
class Language {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @Column({ default: 1 }) speakers!: number
  @Column({ default: 'canary' }) canary!: string
  @ManyToMany(
    () => Country,
    (country) => country.languages,
  )
  countries!: Relation<Country>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Flag {
  @PrimaryGeneratedColumn() id!: number
  @Column() colours!: string
  @OneToOne(
    () => Country,
    (country) => country.flag,
  )
  @JoinColumn()
  country!: Relation<Country>
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class City {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @ManyToOne(
    () => Country,
    (country) => country.cities,
  )
  country!: Relation<Country>
  @ManyToOne(() => City) twin!: Relation<City> | null
  @DeleteDateColumn() gone!: Date | null
}

/** Hides a relation that the other end shows, and the other way round. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Writer {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => Draft,
    (draft) => draft.writer,
  )
  drafts!: Relation<Draft>[]
  @ManyToMany(
    () => Draft,
    (draft) => draft.readers,
  )
  read!: Relation<Draft>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1, exclude: ['writer', 'readers'] })
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Writer,
    (writer) => writer.drafts,
  )
  writer!: Relation<Writer>
  @ManyToMany(
    () => Writer,
    (writer) => writer.read,
  )
  @JoinTable()
  readers!: Relation<Writer>[]
}

/** Has relations that TypeORM cannot follow, since the other end does not declare them. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Loose {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(() => City, 'nothing') cities!: City[]
  @OneToOne(() => City) city!: City
  @ManyToMany(() => City) many!: City[]
}

/** Child entities of one table with the same declarations, of which TypeORM's metadata contain only the first. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
@TableInheritance({ column: 'kind' })
class Move {
  @PrimaryGeneratedColumn() id!: number
  @Column() kind!: string
}

@ChildEntity()
@Resource({ auth: permitAllAsUser1 })
class Sale extends Move {
  @Column({ type: 'int', nullable: true }) amount!: number | null
  @ManyToOne(() => City) city!: Relation<City> | null
  @OneToMany(
    () => Part,
    (part) => part.sale,
  )
  parts!: Relation<Part>[]
}

@ChildEntity()
@Resource({ auth: permitAllAsUser1 })
class Release extends Move {
  @Column({ type: 'int', nullable: true }) amount!: number | null
  @ManyToOne(() => City) city!: Relation<City> | null
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Part {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Sale,
    (sale) => sale.parts,
  )
  sale!: Relation<Sale>
}

/** Not a resource. */
@Entity()
class Spy {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @ManyToOne(
    () => Country,
    (country) => country.spies,
  )
  country!: Relation<Country>
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Region, Country, Language, Flag, City, Spy, Writer, Draft, Loose, Move, Sale, Release, Part],
    seed: async ({ manager }) => {
      const [north, south] = await manager.save(Region, [{ name: 'North' }, { name: 'South' }])
      const [french, german, dutch] = await manager.save(Language, [
        { name: 'French', speakers: 80 },
        { name: 'German', speakers: 90 },
        { name: 'Dutch', speakers: 25 },
      ])
      const languages = [[french, german], [french, german, dutch], [german], []]
      const countries = await manager.save(
        Country,
        ['France', 'Belgium', 'Austria', 'Empty'].map((name, index) => ({
          name,
          region: index < 2 ? north : index < 3 ? south : null,
          languages: languages[index],
        })) as Country[],
      )
      const [france, belgium, austria] = countries as [Country, Country, Country]
      await manager.save(Country, { id: france.id, borders: [belgium], secrets: [austria] } as Country)
      await manager.save(Flag, { colours: 'blue white red', country: france } as Flag)
      await manager.save(City, [
        { name: 'Paris', country: france },
        { name: 'Lyon', country: france },
        { name: 'Vienna', country: austria },
      ] as City[])
      await manager.save(City, { name: 'Old', country: belgium, gone: new Date() } as City)
      await manager.save(Spy, { name: 'James', country: france } as Spy)
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)

test.each(toManyFilters.map(([query, ids]) => [query, ids] as const))(
  'a filter through a to-many relation: %s',
  async (path, expected) => {
    world.statements()
    const reply = await get(path)
    const { objects } = reply.json() as { objects: { id: number }[] }
    expect(objects.map(({ id }) => id)).toEqual(expected)
    expect(world.statements()).toHaveLength(1)
  },
)

test.each([
  ['country?languages=1', 'languages leads to language records; add one of their fields, as in languages__id'],
  ['country?languages__is=null', 'languages__is starts with languages, which leads to language records'],
  ['country?languages__canary=canary', 'languages__canary contains canary, which is not a field of language'],
  ['country?spies__name=James', 'spies__name starts with spies, which is not a field of country'],
  ['country?spies=1', 'spies is not a field of country'],
  ['country?nothing=1', '; relations: region, languages, borders, flag, cities'],
  ['country?region.name=Europe', 'region.name is not a field of country; use region__name; '],
  ['country?languages_name=German', 'languages_name is not a field of country; use languages__name; '],
  ['country?secrets__name=Austria', 'secrets__name starts with secrets, which is not a field of country'],
  ['country?ordering=languages', 'ordering names "languages", which leads to language records'],
  [
    'region?countries__languages__countries__languages__countries__id=1',
    'follows too many relations; at most 4 are allowed',
  ],
])('Hidden fields, Unknown parameters: %s is refused', async (path, detail) => {
  const reply = await get(path)
  expect([reply.status, reply.json()]).toEqual([
    400,
    expect.objectContaining({ detail: expect.stringContaining(detail) }),
  ])
})

test('to-many relations are not in records, and cannot be written', async () => {
  const record = (await get('country/1/')).json() as object
  expect(record).toEqual({ id: 1, name: 'France', region_id: 1 })
  expect((await put('country/1', record)).json()).toEqual(record)
  expect((await post('country', { name: 'x', languages: [1] })).json()).toMatchObject({
    status: 400,
    errors: [{ field: 'languages' }],
  })
})

test('relations can lead to the same entity, and one-to-one relations can be written on the side with the foreign key', async () => {
  expect((await put('city/1', { twin_id: 3 })).json()).toMatchObject({ twin_id: 3 })
  expect((await get('city?twin__name=Vienna')).json()).toMatchObject({ objects: [{ name: 'Paris' }] })
  expect((await get('city?twin__country__name=Austria')).json()).toMatchObject({ objects: [{ name: 'Paris' }] })
  const taken = { status: 409, errors: [{ field: 'country_id' }] }
  expect((await post('flag', { colours: 'x', country_id: 1 })).json()).toMatchObject(taken)
})

test('a reference to a soft-deleted record can be kept and removed, but not set', async () => {
  const twin = (await post('city', { name: 'Twin', country_id: 1 })).json() as { id: number }
  const city = (await post('city', { name: 'Left', country_id: 1, twin_id: twin.id })).json() as { id: number }
  expect((await send(world.url, `DELETE /api/city/${twin.id}/`)).status).toBe(204)
  const path = `city/${city.id}`
  expect((await put(path, { name: 'Left alone' })).json()).toMatchObject({ name: 'Left alone', twin_id: twin.id })
  expect((await put(path, { name: 'Left', twin_id: twin.id })).json()).toMatchObject({ name: 'Left' })
  const removed = await put(path, { twin_id: null })
  expect([removed.status, removed.json()]).toMatchObject([200, { id: city.id, twin_id: null }])
  expect((await put(path, { twin_id: twin.id })).json()).toMatchObject({ errors: [{ field: 'twin_id' }] })
})

test.each(['writer?drafts__id=1', 'writer?read__id=1', 'draft?writer__id=1', 'draft?readers__id=1'])(
  'Hidden fields: a relation that one end hides cannot be followed from the other: %s',
  async (path) => {
    expect((await get(path)).status).toBe(400)
  },
)

test.each(['cities', 'city', 'many'])('a relation that the other end does not declare is unknown: %s', async (name) => {
  expect((await get(`loose?${name}__id=1`)).json()).toMatchObject({ status: 400, errors: [{ field: `${name}__id` }] })
})

test('Hidden fields: single-table inheritance: child entities have the fields that they declare, even with the same names, and the parent does not', async () => {
  for (const child of ['sale', 'release']) {
    const made = (await post(child, { amount: 5, city_id: 1 })).json() as { id: number }
    expect(made).toEqual({ id: made.id, kind: expect.any(String), amount: 5, city_id: 1 })
    expect((await get(`${child}?amount=5&city__name=Paris`)).json()).toMatchObject({ objects: [{ id: made.id }] })
  }
  await post('part', { sale_id: 1 })
  expect((await get('sale?parts__id=1')).json()).toMatchObject({ objects: [{ id: 1 }] })
  for (const query of ['move?parts__id=1', 'move?amount=5', 'move?city__name=Paris', 'release?parts__id=1']) {
    expect((await get(query)).status).toBe(400)
  }
})
