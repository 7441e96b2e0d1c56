import { createHmac } from 'node:crypto'
import type Koa from 'koa'
import jwt from 'koa-jwt'
import session from 'koa-session'
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { anonymous, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from './client'
import { openWorld, type World } from './world/world'

const visitor: Rule = ({ context, reads }) => context.state.user ?? (reads ? anonymous : null)

@Entity()
class Account {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

@Entity()
@Resource({ auth: visitor, ownerField: 'account' })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @ManyToOne(() => Account, { nullable: false }) account!: Account
}

/** Opens a site with two accounts, the first of which has a task, and middleware before the service. */
const openAfter = (before: (app: Koa) => void): Promise<World> =>
  openWorld({
    entities: [Account, Task],
    seed: async (dataSource) => {
      await dataSource.getRepository(Account).save([{ name: 'Ann' }, { name: 'Bob' }])
      await dataSource.getRepository(Task).save({ title: 'of Ann', account: { id: 1 } })
    },
    before,
  })

let world: World
afterEach(() => world.close())

type Headers = Readonly<Record<string, string>>
const request = (line: string, headers: Headers): Promise<Reply> =>
  send(world.url, line, { headers, ...(/^(POST|PUT)/.test(line) && { body: { title: 'new' } }) })

/** The statuses of reading, creating and changing a task of Ann's, and the owner of the created task. */
async function rightsOf(headers: Headers): Promise<readonly unknown[]> {
  const lines = ['GET /api/task/', 'POST /api/task/', 'PUT /api/task/1/']
  const replies = await Promise.all(lines.map((line) => request(line, headers)))
  const { account_id: owner } = replies[1]?.status === 201 ? (replies[1].json() as { account_id?: number }) : {}
  return [...replies.map(({ status }) => status), owner]
}
const rightsOfAnn = [200, 201, 200, 1]
const rightsOfBob = [200, 201, 403, 2]
const rightsOfAnonymous = [200, 401, 401, undefined]

describe('koa-jwt', () => {
  const secret = 'of this test'
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const bearer = (payload: object, { alg = 'HS256', hash = 'sha256', key = secret } = {}): Headers => {
    const text = `${encode({ alg, typ: 'JWT' })}.${encode(payload)}`
    const signature = alg === 'none' ? '' : createHmac(hash, key).update(text).digest('base64url')
    return { Authorization: `Bearer ${text}.${signature}` }
  }
  const now = Math.floor(Date.now() / 1000)
  beforeEach(async () => {
    world = await openAfter((app) => {
      app.use(jwt({ secret, algorithms: ['HS256'], key: 'token', passthrough: true }))
      app.use((context, next) => {
        const { token } = context.state
        if (token !== undefined) context.state.user = { id: Number(token.sub) }
        return next()
      })
    })
  })

  test.each([
    ['valid and belongs to the owner', bearer({ sub: '1' }), rightsOfAnn],
    ['not yet expired and belongs to another user', bearer({ sub: '2', exp: now + 60 }), rightsOfBob],
    ['expired', bearer({ sub: '1', exp: now - 60 }), rightsOfAnonymous],
    ['signed with another key', bearer({ sub: '1' }, { key: 'another' }), rightsOfAnonymous],
    ['signed with another algorithm', bearer({ sub: '1' }, { alg: 'HS512', hash: 'sha512' }), rightsOfAnonymous],
    ['unsigned', bearer({ sub: '1' }, { alg: 'none' }), rightsOfAnonymous],
    ['missing', {}, rightsOfAnonymous],
  ])('a token that is %s', async (_, headers, rights) => {
    expect(await rightsOf(headers)).toEqual(rights)
  })
})

describe('koa-session', () => {
  beforeEach(async () => {
    world = await openAfter((app) => {
      app.keys = ['of this test']
      app.use(session({ sameSite: 'lax' }, app))
      app.use(async (context, next) => {
        const [, login] = /^\/login\/(\d)$/.exec(context.path) ?? []
        if (login === undefined) return next()
        context.session.user = Number(login)
        context.status = 204
      })
      app.use(async (context, next) => {
        const { user: id } = context.session
        const accounts = world.dataSource.getRepository(Account)
        if (id !== undefined) context.state.user = await accounts.findOneBy({ id })
        await next()
        context.remove('WWW-Authenticate')
      })
    })
  })

  const logIn = async (id: number): Promise<{ readonly Cookie: string }> => {
    const { headers } = await request(`GET /login/${id}`, {})
    return { Cookie: (headers['set-cookie'] ?? []).map((cookie) => cookie.split(';')[0]).join('; ') }
  }

  test('a cookie identifies the user', async () => {
    expect(await rightsOf(await logIn(1))).toEqual(rightsOfAnn)
    expect(await rightsOf(await logIn(2))).toEqual(rightsOfBob)
    expect(await rightsOf({})).toEqual(rightsOfAnonymous)
  })

  test('a changed cookie is ignored', async () => {
    const [{ Cookie: ann }, { Cookie: bob }] = [await logIn(1), await logIn(2)]
    const forged = `${ann.split('; ')[0]}; ${bob.split('; ')[1]}`
    expect(await rightsOf({ Cookie: forged })).toEqual(rightsOfAnonymous)
  })

  test('a page of another site cannot write with the cookie', async () => {
    const cookie = await logIn(1)
    for (const headers of [{ Origin: 'https://evil.example.org' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
      expect((await request('PUT /api/task/1/', { ...cookie, ...headers })).status).toBe(403)
    }
  })

  test('the session of a deleted user ends at once', async () => {
    const cookie = await logIn(2)
    await world.dataSource.getRepository(Account).delete({ id: 2 })
    expect(await rightsOf(cookie)).toEqual(rightsOfAnonymous)
  })

  test('no password is requested', async () => {
    const refused = await request('POST /api/task/', {})
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, undefined])
  })
})
