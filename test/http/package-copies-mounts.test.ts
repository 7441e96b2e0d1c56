import { Validate, ValidatorConstraint, type ValidatorConstraintInterface } from 'class-validator'
import Koa from 'koa'
import { Column, type DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { anonymous, IdempotencyKey, mountResources, userRule } from 'typeorm-resources'
import { freePort, send } from '../client'
import { EventReader } from '../support/event-reader'
import { loadCopy } from '../support/package-copy'
import { isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** A package may mount the data source of the application with its own copy of this package. */

const copy = loadCopy()

@Entity()
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 40 }) username!: string
  @Column({ length: 200 }) password!: string
}

@Entity()
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) resource!: string
  @Column({ length: 40 }) record!: string
  @Column({ length: 40 }) action!: string
  @Column({ type: 'int', nullable: true }) principal!: number | null
  @Column({ type: 'simple-json' }) changes!: object
}

/** A validator that reads with the data source. */
@ValidatorConstraint({ async: true })
class IsUnused implements ValidatorConstraintInterface {
  async validate(text: string): Promise<boolean> {
    return (await world.dataSource.getRepository(Note).countBy({ text })) === 0
  }
}

@Entity()
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Validate(IsUnused) @Column({ length: 40 }) text!: string
}

const auth = (): typeof anonymous => anonymous
const mounts = (app: Koa, dataSource: DataSource): ReturnType<typeof mountResources> => {
  const note = { entity: Note, auth, bulk: true }
  copy.mountResources(app, dataSource, { prefix: '/copy', live: true, resources: [note] })
  return mountResources(app, dataSource, {
    live: true,
    users: { entity: Member },
    audit: { entity: Entry },
    resources: [note, { entity: Member, auth }],
  })
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Member, Entry, Note, copy.IdempotencyKey],
    mountOn: mounts,
    source: { poolSize: 2 },
  })
})
afterAll(() => world.close())

test.each([
  ['the passwords of users', Member],
  ['the audit log', Entry],
])('a mount of another copy of this package cannot serve what the first one protects: %s', (_, entity) => {
  const options = { prefix: '/unprotected', resources: [{ entity, auth }] }
  for (const { mountResources: mount } of [{ mountResources }, copy]) {
    expect(() => mount(new Koa(), world.dataSource, options)).toThrow(`${entity.name} `)
  }
})

test('a data source can be mounted once at a path, with any copy of this package', () => {
  expect(() => copy.mountResources(world.app, world.dataSource)).toThrow('mounted at /api/ already')
})

test('all copies of this package have the same statement timeout', () => {
  const options = { prefix: '/slow', statementTimeout: 20_000 }
  expect(() => copy.mountResources(world.app, world.dataSource, options)).toThrow('"statementTimeout" must be the same')
})

test('the entity IdempotencyKey of another copy of this package enables the header', async () => {
  for (const path of ['/api/note/', '/copy/note/']) {
    const request = { headers: { 'Idempotency-Key': path }, body: { text: 'once' } }
    expect([path, (await send(world.url, `POST ${path}`, request)).status]).toEqual([path, 201])
    const repeated = await send(world.url, `POST ${path}`, request)
    expect([path, repeated.status, repeated.text]).toEqual([path, 201, expect.stringContaining('once')])
    await world.dataSource.getRepository(Note).clear()
  }
  const resources = [{ entity: IdempotencyKey, auth }]
  expect(() =>
    mountResources(new Koa(), world.dataSource, { prefix: '/keys', users: { entity: Member }, resources }),
  ).toThrow('IdempotencyKey cannot be a resource')
})

test.each(['/api', '/copy'])('a validator can read in the transaction of a request to %s', async (base) => {
  const body = [{ text: `${base} 1` }, { text: `${base} 2` }]
  expect((await send(world.url, `POST ${base}/note/`, { body })).status).toBe(201)
  expect(world.faults).toEqual([])
})

test('transactions of all copies of this package together leave a connection to their validators', async () => {
  const requests = Array.from({ length: 8 }, (_, index) =>
    send(world.url, `POST ${index % 2 === 0 ? '/api' : '/copy'}/note/`, { body: [{ text: `both ${index}` }] }),
  )
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(requests.map(() => 201))
  expect(world.faults).toEqual([])
})

if (!isSqlite)
  test('if no connection is free, the requests to all copies of this package are 503', async () => {
    const runners = [1, 2].map(() => world.dataSource.createQueryRunner())
    for (const runner of runners) await runner.connect()
    const paths = ['/api/note/', '/copy/note/']
    const replies = await Promise.all(paths.map((path) => send(world.url, `GET ${path}`)))
    for (const runner of runners) await runner.release()
    expect(replies.map(({ status }) => status)).toEqual([503, 503])
  })

test('live lists show the writes to mounts of other copies of this package', async () => {
  const reader = await EventReader.open(`${world.url}/api/note/`)
  expect(await reader.take(1)).toMatchObject([['reset', expect.anything()]])
  await send(world.url, 'POST /copy/note/', { body: { text: 'of the copy' } })
  expect(await reader.take(1)).toMatchObject([['created', { text: 'of the copy' }]])
  reader.close()
})

test('a refusal of an authenticator of another copy of this package has its own status', async () => {
  const app = new Koa()
  app.silent = true
  const bearer = copy.bearer({
    jwks: `http://127.0.0.1:${await freePort()}/keys`,
    issuer: 'https://issuer.example',
    audience: 'notes',
    algorithms: ['RS256'],
    principal: ({ sub }) => ({ id: sub ?? null }),
  })
  mountResources(app, world.dataSource, {
    prefix: '/tokens',
    users: { entity: Member },
    audit: { entity: Entry },
    authenticators: [bearer],
    resources: [{ entity: Note, auth: userRule() }],
  })
  const server = app.listen(0)
  const address = server.address()
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const token = `${part({ alg: 'RS256', kid: 'one' })}.${part({ sub: '1' })}.${part({})}`
  const headers = { Authorization: `Bearer ${token}` }
  const url = `http://127.0.0.1:${typeof address === 'object' && address?.port}`
  expect((await send(url, 'GET /tokens/note/', { headers })).status).toBe(503)
  await new Promise((resolve) => server.close(resolve))
})
