import { Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource, UserAccount } from 'typeorm-resources'
import { send } from '../client'
import { openWorld, type World } from '../world/world'

/** A request has few passwords, because its transaction holds its locks while they are hashed. */

@Entity()
@UserAccount({ username: 'name', password: 'password', admin: 'admin', active: 'active' })
@Resource({ auth: () => ({ id: 1 }), bulk: true })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 30, unique: true }) name!: string
  @Column({ length: 200 }) password!: string
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
  @ManyToOne(
    () => Team,
    (team) => team.people,
  )
  team!: Relation<Team> | null
}

@Entity()
@UserAccount({ username: 'name', password: 'password', admin: 'admin', active: 'active' })
@Resource({ auth: () => ({ id: 1 }), bulk: true })
class Guest {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 30, unique: true }) name!: string
  @Column({ type: 'varchar', length: 200, nullable: true }) password!: string | null
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
}

@Entity()
@Resource({ auth: () => ({ id: 1 }), bulk: true, nested: ['people'] })
class Team {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 30, unique: true }) code!: string
  @OneToMany(
    () => Person,
    (person) => person.team,
  )
  people!: Relation<Person>[]
  @ManyToOne(
    () => Club,
    (club) => club.teams,
  )
  club!: Relation<Club> | null
}

@Entity()
@Resource({ auth: () => ({ id: 1 }), bulk: true, nested: ['teams'] })
class Club {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 30, unique: true }) code!: string
  @OneToMany(
    () => Team,
    (team) => team.club,
  )
  teams!: Relation<Team>[]
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Person, Team, Club], mount: { batch: true } })
})
afterAll(() => world.close())

const people = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({ name: `name ${from + index}`, password: 'a long password' }))
const post = (body: unknown, path = 'person') => ({ method: 'POST', path: `/api/${path}/`, body })
/** Teams with one person each. */
const teams = (count: number) => people(count).map((person) => ({ code: person.name, people: [person] }))
/** Clubs with one team each, which has two people. */
const clubs = (count: number) =>
  Array.from({ length: count }, (_, index) => {
    const code = `code ${index}`
    return { code, teams: [{ code, people: people(2, 2 * index) }] }
  })
const lines = (records: readonly object[]) => records.map((record) => JSON.stringify(record)).join('\n')

test.each<[string, string, unknown, Readonly<Record<string, string>>?]>([
  ['an array', 'person/', people(51)],
  ['an array with on_conflict', 'person/?on_conflict=name', people(51)],
  ['a batch of arrays', '-/batch', [post(people(25)), post(people(25, 25)), post(people(1, 50))]],
  ['a batch of records', '-/batch', people(51).map((one) => post(one))],
  ['an array of parents', 'team/?on_conflict=code', teams(51)],
  ['a file of parents', 'team/?on_conflict=code', lines(teams(51)), { 'Content-Type': 'application/x-ndjson' }],
  ['a batch of parents', '-/batch', teams(51).map((one) => post(one, 'team'))],
  ['an array with two levels', 'club/?on_conflict=code', clubs(26)],
  ['a batch with two levels', '-/batch', clubs(26).map((one) => post(one, 'club'))],
])('%s with more than 50 passwords is 400, and nothing is written', async (_, path, body, headers = {}) => {
  const reply = await send(world.url, `POST /api/${path}`, { body, headers })
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('at most 50 records with passwords')])
  expect(await world.sql('SELECT 1 FROM "person"')).toEqual([])
})

test('the error names the password that is too many', async () => {
  const replies = [
    await send(world.url, 'POST /api/club/?on_conflict=code', { body: clubs(26) }),
    await send(world.url, 'POST /api/-/batch', { body: clubs(26).map((one) => post(one, 'club')) }),
  ]
  const error = { field: 'teams[0].people[0].password', message: expect.stringContaining('at most 50') }
  expect(replies.map((reply) => reply.json())).toMatchObject([
    { errors: [{ index: 25, ...error }] },
    { index: 25, errors: [error] },
  ])
})

test('a password in a batch cannot be a reference, which is known only in the transaction', async () => {
  const body = { name: 'b', password: { $ref: '0.name' } }
  const reply = await send(world.url, 'POST /api/-/batch', { body: [post(people(1)[0]), post(body)] })
  expect([reply.status, reply.json()]).toMatchObject([
    400,
    { index: 1, errors: [{ field: 'password', message: 'must be a text; a reference is not possible' }] },
  ])
  expect(await world.sql('SELECT 1 FROM "person"')).toEqual([])
})

test('records of an array without passwords do not count', async () => {
  const guests = await openWorld({ entities: [Guest] })
  try {
    const body = Array.from({ length: 60 }, (_, index) => ({ name: `guest ${index}` }))
    const withPassword = { name: 'guest', password: 'a long password' }
    const reply = await send(guests.url, 'POST /api/guest/', { body: [...body, withPassword] })
    expect([reply.status, reply.json()]).toMatchObject([201, { meta: { created: 61 } }])
  } finally {
    await guests.close()
  }
})

test('records without passwords do not count', async () => {
  await send(world.url, 'POST /api/person/', { body: people(1) })
  const body = Array(60).fill({ name: 'name 0', active: false })
  const reply = await send(world.url, 'POST /api/person/?on_conflict=name', { body })
  expect([reply.status, reply.json()]).toMatchObject([200, { meta: { created: 0, updated: 60 } }])
})
