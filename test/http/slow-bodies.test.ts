import { once } from 'node:events'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import {
  Column,
  type DataSource,
  DeleteDateColumn,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import {
  ApiKeys,
  anonymous,
  apiKeys,
  basic,
  bearer,
  createApiKey,
  IdempotencyKey,
  type Principal,
  Resource,
  UserAccount,
  userRule,
} from 'typeorm-resources'
import { basic as authorization, send } from '../client'
import { audience, claimsOf, issuer, now, signToken } from '../support/tokens'
import { unhashed } from '../support/unhashed'
import { types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** The rights of a client may change while the body of its request arrives. */

@Entity()
@UserAccount({ ...unhashed, principal: ['team'] })
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 60 }) username!: string
  @Column() password!: string
  @Column({ default: true }) active!: boolean
  @Column({ default: 'red' }) team!: string
}

@Entity()
@Resource({ auth: userRule(), ownerField: 'user' })
@ApiKeys()
class Token {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 20 }) prefix!: string
  @Column() hash!: string
  @ManyToOne(() => Member, { nullable: false }) user!: Relation<Member>
  @Column({ ...types.instant, nullable: true }) expires!: Date | null
}

interface MemberPrincipal extends Principal {
  readonly team: string
}

@Entity()
@Resource({
  auth: userRule(),
  bulk: true,
  may: { restore: true },
  preset: (principal) => ({ team: (principal as MemberPrincipal).team }),
})
class Task {
  @PrimaryColumn({ length: 60 }) code!: string
  @Column({ length: 60, default: '' }) title!: string
  @Column({ default: '' }) team!: string
  @DeleteDateColumn() deleted!: Date | null
}

let isOpen = true

@Entity()
@Resource({ auth: () => (isOpen ? anonymous : null) })
class Suggestion {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
}

const secret = 's'.repeat(40)
const names = new Map<string, string>()

let world: World
let key: string
beforeAll(async () => {
  world = await openWorld({
    entities: [Member, Token, Task, Suggestion, IdempotencyKey],
    mount: {
      passwordChange: true,
      batch: true,
      authenticators: [
        basic(),
        apiKeys(),
        bearer({
          secret,
          issuer,
          audience,
          algorithms: ['HS256'],
          clockTolerance: 0,
          user: { claim: 'sub', property: 'username' },
        }),
      ],
    },
    seed: insertMembers,
  })
  const user = await world.dataSource.getRepository(Member).findOneByOrFail({ username: usernameOf('key') })
  key = await createApiKey(world.dataSource, Token, { user })
})
afterAll(() => world.close())

async function insertMembers(dataSource: DataSource): Promise<void> {
  const users = [...rows.map(([name]) => name), 'moved', 'key', 'token']
  for (const name of users) names.set(name, `user${names.size}`)
  await dataSource
    .getRepository(Member)
    .insert([...names.values()].map((username) => ({ username, password: username })))
  await dataSource.getRepository(Task).insert([...names.values()].map((code) => ({ code, title: 'old' })))
}

const usernameOf = (name: string): string => names.get(name) ?? ''

/** Time until the service has checked the access of a request that has begun, in milliseconds. */
const checked = 400
/** Time that a body may take until the access is checked again, and some more. */
const slow = 1100

interface SlowRequest {
  /** `POST /api/task/` */
  readonly line: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Begins a request, calls `change`, and sends the last byte of the body when it has taken long.
 * @returns status and body of the response
 */
async function sendSlowly(request: SlowRequest, change: () => Promise<unknown>): Promise<[number, string]> {
  const { line, headers, body } = request
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1')
  const length = String(Buffer.byteLength(body))
  const all = { Host: 'localhost', Connection: 'close', 'Content-Length': length, ...headers }
  const head = Object.entries(all).map((header) => `${header.join(': ')}\r\n`)
  socket.write(`${line} HTTP/1.1\r\n${head.join('')}\r\n${body.slice(0, -1)}`)
  await setTimeout(checked)
  await change()
  await setTimeout(slow)
  socket.write(body.slice(-1))
  const response = await textOf(socket)
  return [Number(response.slice('HTTP/1.1 '.length, 12)), response.slice(response.indexOf('\r\n\r\n') + 4)]
}

const json = 'application/json'
type Row = readonly [
  name: string,
  line: (username: string) => string,
  type: string,
  body: (username: string) => string,
  headers?: Readonly<Record<string, string>>,
]
const late = (username: string): string => JSON.stringify({ code: `late ${username}`, title: 'late' })
const title = (): string => '{"title":"late"}'
const rows: readonly Row[] = [
  ['POST', () => 'POST /api/task/', json, late],
  ['POST of an array', () => 'POST /api/task/', json, (name) => `[${late(name)}]`],
  ['POST of a file', () => 'POST /api/task/', 'application/x-ndjson', late],
  ['POST with a key', () => 'POST /api/task/', json, late, { 'Idempotency-Key': 'one' }],
  ['POST of a file with a key', () => 'POST /api/task/', 'application/x-ndjson', late, { 'Idempotency-Key': 'two' }],
  ['POST with on_conflict', () => 'POST /api/task/?on_conflict=code', json, late],
  ['PUT', (name) => `PUT /api/task/${name}/`, json, title],
  ['PUT on a new path', (name) => `PUT /api/task/late%20${name}/`, json, title, { 'If-None-Match': '*' }],
  ['PATCH', (name) => `PATCH /api/task/${name}/`, json, title],
  ['PATCH of records', (name) => `PATCH /api/task/?code=${name}`, json, title],
  ['restoring with a key', (name) => `POST /api/task/${name}/restore/`, json, () => '{}', { 'Idempotency-Key': '3' }],
  ['change of the password', () => 'POST /api/-/password', json, (name) => `{"old":"${name}","new":"late"}`],
  ['batch', () => 'POST /api/-/batch', json, (name) => `[{"method":"POST","path":"/api/task/","body":${late(name)}}]`],
]

test('a user who is deactivated while the body arrives slowly is refused, and nothing is written', async () => {
  const deleteOf = `UPDATE "task" SET "deleted" = CURRENT_TIMESTAMP WHERE "code" = '${usernameOf('restoring with a key')}'`
  await world.sql(deleteOf)
  const replies = await Promise.all(
    rows.map(async ([name, line, type, body, headers]) => {
      const username = usernameOf(name)
      const all = { Authorization: authorization(username), 'Content-Type': type, ...headers }
      const [status] = await sendSlowly({ line: line(username), headers: all, body: body(username) }, () =>
        world.dataSource.getRepository(Member).update({ username }, { active: false }),
      )
      return [name, status]
    }),
  )
  expect(replies).toEqual(rows.map(([name]) => [name, 401]))
  expect(await world.sql(`SELECT "code" FROM "task" WHERE "title" = 'late'`)).toEqual([])
  expect(await world.sql(`SELECT "username" FROM "member" WHERE "password" = 'late'`)).toEqual([])
  expect(await world.sql('SELECT "code" FROM "task" WHERE "deleted" IS NOT NULL')).toHaveLength(1)
})

test('a record has the values of the principal at the time when its body has arrived', async () => {
  const username = usernameOf('moved')
  const headers = { Authorization: authorization(username), 'Content-Type': json }
  const [status, body] = await sendSlowly({ line: 'POST /api/task/', headers, body: late(username) }, () =>
    world.dataSource.getRepository(Member).update({ username }, { team: 'blue' }),
  )
  expect([status, JSON.parse(body).team]).toEqual([201, 'blue'])
})

test('credentials that expire while the body arrives slowly are refused', async () => {
  const claims = claimsOf({ sub: usernameOf('token'), exp: now() + 2 })
  const token = signToken({ alg: 'HS256' }, claims, secret)
  const expire = (): Promise<unknown> =>
    world.dataSource
      .createQueryBuilder()
      .update(Token)
      .set({ expires: new Date(0) })
      .execute()
  const begin = (Authorization: string, change: () => Promise<unknown>) =>
    sendSlowly({ line: 'POST /api/task/', headers: { Authorization, 'Content-Type': json }, body: late('x') }, change)
  const replies = await Promise.all([begin(`Bearer ${token}`, () => setTimeout(1600)), begin(`ApiKey ${key}`, expire)])
  expect(replies.map(([status]) => status)).toEqual([401, 401])
})

test('the access rule is called again after a slow body', async () => {
  const request = { line: 'POST /api/suggestion/', headers: { 'Content-Type': json }, body: '{"title":"late"}' }
  const [status] = await sendSlowly(request, async () => {
    isOpen = false
  })
  expect(status).toBe(401)
  expect((await send(world.url, 'GET /api/suggestion/')).status).toBe(401)
  expect(await world.sql('SELECT "id" FROM "suggestion"')).toEqual([])
})

/** A body that is too large, and encoded in an unknown way: it would be 413 or 415. */
const unread = { 'Content-Length': '9000000', 'Content-Encoding': 'gzip' }

test.each<[line: string, headers: Readonly<Record<string, string>>, status: number]>([
  ['POST /api/task/?on_conflict=title', {}, 400],
  ['POST /api/task/?on_conflict=title', { 'Content-Type': 'application/x-ndjson' }, 400],
  ['POST /api/task/?include=none', {}, 400],
  ['POST /api/task/', { 'Idempotency-Key': ' ' }, 400],
  ['PATCH /api/task/', {}, 400],
  ['POST /api/task/none/restore/', {}, 404],
  ['DELETE /api/task/none/', {}, 404],
])('a request is refused before its body arrives: %s %j', async (line, headers, status) => {
  const username = usernameOf('moved')
  const all = { Host: 'localhost', Authorization: authorization(username), 'Content-Type': json, ...unread, ...headers }
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1')
  const head = Object.entries(all).map((header) => `${header.join(': ')}\r\n`)
  socket.write(`${line} HTTP/1.1\r\n${head.join('')}\r\n`)
  const [response] = await once(socket, 'data')
  expect(String(response).slice(9, 12)).toBe(String(status))
  socket.destroy()
})
