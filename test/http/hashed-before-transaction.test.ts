import { Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { IdempotencyKey, Resource, UserAccount } from 'typeorm-resources'
import { send } from '../client'
import { openWorld, type World } from '../world/world'

/** Passwords are hashed before the transaction that writes them: it would hold its locks meanwhile. */

let world: World
/** Whether a transaction is open, by the statements so far. */
let isOpen = false
/** For each hashed password, whether a transaction was open. */
const hashed: boolean[] = []

function hash(plain: string): string {
  for (const sql of world.statements()) {
    if (/^(BEGIN|START) TRANSACTION/.test(sql)) isOpen = true
    if (/^(COMMIT|ROLLBACK)$/.test(sql)) isOpen = false
  }
  hashed.push(isOpen)
  return `hash ${hashed.length} of ${plain}`
}

@Entity()
@UserAccount({ username: 'name', password: 'password', hash, verify: () => false })
@Resource({ auth: () => ({ id: 1 }), bulk: true })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 30, unique: true }) name!: string
  @Column({ length: 200 }) password!: string
  @ManyToOne(
    () => Team,
    (team) => team.people,
  )
  team!: Relation<Team> | null
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
}

beforeAll(async () => {
  world = await openWorld({ entities: [Person, Team, IdempotencyKey], mount: { batch: true } })
})
beforeEach(async () => {
  await world.sql('DELETE FROM "person"')
  await world.sql('DELETE FROM "team"')
  await world.dataSource.getRepository(IdempotencyKey).clear()
  await world.dataSource.getRepository(Person).insert({ name: 'ann', password: 'old' })
  hashed.splice(0)
  isOpen = false
})
afterAll(() => world.close())

const person = (name: string, password = 'secret') => ({ name, password })
const teams = [{ code: 'red', people: [person('bob'), person('eve', 'other')] }]
const lines = (records: readonly object[]) => records.map((record) => JSON.stringify(record)).join('\n')
const ndjson = { 'Content-Type': 'application/x-ndjson' }
const keyed = { 'Idempotency-Key': 'key' }
const post = (body: unknown, path = 'person') => ({ method: 'POST', path: `/api/${path}/`, body })

interface Case {
  readonly what: string
  /** Method and path below the mount, which may contain the id of ann. */
  readonly line: string
  readonly body: (ann: number) => unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly passwords: readonly string[]
}

const changeTwice = (ann: number) =>
  ['first', 'second'].map((password) => ({ method: 'PATCH', path: `/api/person/${ann}/`, body: { password } }))

test.each<Case>([
  { what: 'a record', line: 'POST person/', body: () => person('bob'), passwords: ['old', 'secret'] },
  { what: 'related records', line: 'POST team/', body: () => teams[0], passwords: ['old', 'secret', 'other'] },
  {
    what: 'an array',
    line: 'POST person/',
    body: () => [person('bob'), person('eve')],
    passwords: ['old', 'secret', 'secret'],
  },
  {
    what: 'an array with on_conflict',
    line: 'POST person/?on_conflict=name',
    body: () => [person('ann', 'new'), person('eve')],
    passwords: ['new', 'secret'],
  },
  {
    what: 'a record with on_conflict',
    line: 'POST person/?on_conflict=name',
    body: () => person('ann', 'new'),
    passwords: ['new'],
  },
  {
    what: 'related records with on_conflict',
    line: 'POST team/?on_conflict=code',
    body: () => teams[0],
    passwords: ['old', 'secret', 'other'],
  },
  {
    what: 'an array of parents',
    line: 'POST team/?on_conflict=code',
    body: () => teams,
    passwords: ['old', 'secret', 'other'],
  },
  {
    what: 'a file',
    line: 'POST person/',
    body: () => lines([person('bob'), person('eve')]),
    headers: ndjson,
    passwords: ['old', 'secret', 'secret'],
  },
  {
    what: 'a file of parents',
    line: 'POST team/?on_conflict=code',
    body: () => lines(teams),
    headers: ndjson,
    passwords: ['old', 'secret', 'other'],
  },
  {
    what: 'a batch of records',
    line: 'POST -/batch',
    body: () => [post(person('bob')), post(person('eve'))],
    passwords: ['old', 'secret', 'secret'],
  },
  {
    what: 'a batch of arrays',
    line: 'POST -/batch',
    body: () => [post([person('bob'), person('eve')])],
    passwords: ['old', 'secret', 'secret'],
  },
  {
    what: 'a batch of parents',
    line: 'POST -/batch',
    body: () => [post(teams[0], 'team')],
    passwords: ['old', 'secret', 'other'],
  },
  { what: 'a batch that changes a password twice', line: 'POST -/batch', body: changeTwice, passwords: ['second'] },
  {
    what: 'a record with an Idempotency-Key',
    line: 'POST person/',
    body: () => person('bob'),
    headers: keyed,
    passwords: ['old', 'secret'],
  },
  {
    what: 'related records with an Idempotency-Key',
    line: 'POST team/',
    body: () => teams[0],
    headers: keyed,
    passwords: ['old', 'secret', 'other'],
  },
  {
    what: 'an array with an Idempotency-Key',
    line: 'POST person/',
    body: () => [person('bob'), person('eve')],
    headers: keyed,
    passwords: ['old', 'secret', 'secret'],
  },
  {
    what: 'a file with an Idempotency-Key',
    line: 'POST person/',
    body: () => lines([person('bob')]),
    headers: { ...ndjson, ...keyed },
    passwords: ['old', 'secret'],
  },
  {
    what: 'a change with an Idempotency-Key',
    line: 'PATCH person/:ann/',
    body: () => ({ password: 'new' }),
    headers: keyed,
    passwords: ['new'],
  },
  {
    what: 'a batch with an Idempotency-Key',
    line: 'POST -/batch',
    body: changeTwice,
    headers: keyed,
    passwords: ['second'],
  },
  {
    what: 'a change of records by filters',
    line: 'PATCH person/?id__gte=1',
    body: () => ({ password: 'new' }),
    passwords: ['new'],
  },
])('the passwords of $what', async ({ line, body, headers, passwords }) => {
  const { id } = await world.dataSource.getRepository(Person).findOneByOrFail({ name: 'ann' })
  const [method, path = ''] = line.replace(':ann', String(id)).split(' ')
  world.statements()
  const reply = await send(world.url, `${method} /api/${path}`, { body: body(id), headers })
  expect([reply.status, reply.text]).toEqual([expect.any(Number), expect.not.stringContaining('errors')])
  expect(reply.status).toBeLessThan(300)
  // Each password is hashed once, outside of a transaction.
  const sent = JSON.stringify(body(id)).split('password').length - 1
  expect(hashed).toEqual(Array(sent).fill(false))
  const stored = await world.dataSource.getRepository(Person).find({ order: { id: 'ASC' } })
  expect(stored.map((one) => one.password.replace(/^hash \d+ of /, ''))).toEqual(passwords)
  // Each has a hash of its own, also if passwords are equal.
  expect(new Set(stored.map((one) => one.password)).size).toBe(stored.length)
})
