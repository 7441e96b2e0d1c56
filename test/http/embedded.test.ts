import { Column, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

class Position {
  @Column({ type: 'double precision', default: 0 }) latitude!: number
  @Column({ type: 'double precision', nullable: true }) longitude!: number | null
}

class Profile {
  @Column({ length: 20 }) city!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) street!: string | null
  @Column({ default: 'canary' }) secret!: string
  @Column({ default: 7, update: false }) number!: number
  @Column(() => Position) position!: Position
  @ManyToOne(() => Country, { nullable: true }) country!: Relation<Country> | null
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Country {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1, exclude: ['profile.secret', 'hidden', 'sealed'], readOnly: ['sealed'] })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @Column(() => Profile) profile!: Profile
  @Column(() => Position, { prefix: 'h_' }) hidden!: Position
  @Column(() => Position, { prefix: 's_' }) sealed!: Position
}

class Code {
  @PrimaryColumn({ length: 5 }) area!: string
  @PrimaryColumn() number!: number
}

/** Has a key in an embedded entity. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Phone {
  @Column(() => Code) code!: Code
  @Column({ default: '' }) label!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Country, Person, Phone] })
  await post('country', { name: 'France' })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)
const ann = {
  id: 1,
  name: 'Ann',
  profile: {
    city: 'Paris',
    street: null,
    number: 7,
    position: { latitude: 48.5, longitude: null },
    country_id: 1,
  },
}

test('embedded entities are objects in a record, and can be nested', async () => {
  const made = await post('person', {
    name: 'Ann',
    profile: { city: 'Paris', position: { latitude: 48.5 }, country_id: 1, secret: 'x' },
    hidden: { latitude: 3 },
  })
  expect([made.status, made.json()]).toEqual([201, ann])
  expect((await get('person/1/')).json()).toEqual(ann)
  expect((await put('person/1', ann)).json()).toEqual(ann)
  const stored = await world.dataSource.getRepository(Person).findOneByOrFail({ id: 1 })
  expect(stored).toMatchObject({ hidden: { latitude: 3 }, profile: { secret: 'x' } })
})

test('PUT changes only the members that are given, at every depth', async () => {
  const changed = await put('person/1', { profile: { street: 'Rue', position: { longitude: 2.25 } } })
  expect(changed.json()).toEqual({
    ...ann,
    profile: { ...ann.profile, street: 'Rue', position: { latitude: 48.5, longitude: 2.25 } },
  })
  expect((await put('person/1', { profile: {} })).json()).toEqual(changed.json())
  expect((await put('person/1', { profile: { country_id: null } })).json()).toMatchObject({
    profile: { country_id: null, city: 'Paris' },
  })
  expect((await put('person/1', { profile: { country_id: 1 } })).json()).toEqual(changed.json())
})

test.each([
  ['profile__city=Paris', 1],
  ['profile__city__like=P%25', 1],
  ['profile__city=London', 0],
  ['profile__position__latitude__gte=48', 1],
  ['profile__position__longitude__is=null', 0],
  ['profile__country=1', 1],
  ['profile__country_id__in=1,2', 1],
  ['profile__country__name=France', 1],
  ['profile__country__name__ne=France', 0],
  ['ordering=-profile__city,profile__position__latitude', 1],
])('filters name embedded columns by their path: %s', async (query, count) => {
  const reply = await get(`person/?${query}`)
  expect([reply.status, reply.json()]).toMatchObject([200, { objects: { length: count } }])
})

test.each([
  ['profile=x', 'profile'],
  ['profile__nope=x', 'profile__nope'],
  ['profile__secret=canary', 'profile__secret'],
  ['hidden__latitude=3', 'hidden__latitude'],
  ['profile__city__name=x', 'profile__city__name'],
  ['ordering=profile', 'ordering'],
  ['ordering=profile__secret', 'ordering'],
])('Hidden fields, Unknown parameters: %s is refused', async (query, field) => {
  expect((await get(`person/?${query}`)).json()).toMatchObject({ status: 400, errors: [{ field }] })
})

test.each([
  [{ profile: { city: 5 } }, ['profile__city']],
  [{ profile: 'Paris' }, ['profile']],
  [{ profile: null }, ['profile']],
  [{ profile: [] }, ['profile']],
  [{ profile: { position: { latitude: 'x' } } }, ['profile__position__latitude']],
  [{ profile: { nope: 1 }, other: 2 }, ['profile__nope', 'other']],
  [{ profile__city: 'Rome' }, ['profile__city']],
  [{ profile: { position__latitude: 1 } }, ['profile__position__latitude']],
  [{ profile: { number: 8 } }, ['profile__number']],
  [{ profile: { country_id: 99 } }, ['profile__country_id']],
])('Strict types: PUT %j reports the wrong fields', async (body, fields) => {
  const { status, errors } = (await put('person/1', body)).json() as { status: number; errors: { field: string }[] }
  expect([status, errors.map(({ field }) => field)]).toEqual([400, fields])
})

test('an embedded object can have as many members as a body', async () => {
  const profile = Object.fromEntries(Array.from({ length: 4097 }, (_, index) => [`f${index}`, index]))
  const { status, text } = await put('person/1', { profile })
  expect([status, text]).toEqual([400, expect.stringContaining('more than 4096 members')])
})

test('Required fields: a required member is reported by its path', async () => {
  expect((await post('person', { name: 'x' })).json()).toMatchObject({
    errors: [{ field: 'profile__city', message: 'is required' }],
  })
})

test('an embedded entity that is hidden and read-only is treated as unknown', async () => {
  for (const name of ['sealed', 'absent']) {
    const response = (await get(`person?${name}__latitude=1`)).json()
    expect(response).toMatchObject({
      detail: expect.stringContaining(`starts with ${name}, which is not a field of person`),
    })
    const written = (await put('person/1', { [name]: 3 })).json()
    expect(written).toMatchObject({ detail: expect.stringContaining(`${name} is not a field of person`) })
  }
})

test.each(['', 'ordering=', 'not=(', 'or=('])(
  'a query string with %jhidden__latitude gets the same error as one with an unknown name',
  async (before) => {
    const detailOf = async (name: string): Promise<string> => {
      const after = before.endsWith('(') ? ':1)' : before === '' ? '=1' : ''
      const { detail } = (await get(`person?${before}${name}__latitude${after}`)).json() as { readonly detail: string }
      return detail.replaceAll(name, 'name')
    }
    expect(await detailOf('hidden')).toBe(await detailOf('absent'))
  },
)

test('a key can be in an embedded entity', async () => {
  const made = await post('phone', { code: { area: '030', number: 5 } })
  expect([made.status, made.json()]).toEqual([201, { id: '030,5', code: { area: '030', number: 5 }, label: '' }])
  expect((await put('phone/030,5', { label: 'x' })).json()).toMatchObject({ id: '030,5', label: 'x' })
  expect((await get('phone?code__area=030&ordering=-code__number')).json()).toMatchObject({
    objects: [{ id: '030,5' }],
  })
})
