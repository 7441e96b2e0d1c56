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

/** Two accounts, of which the first has a task. */
const openBehind = (before: (app: Koa) => void): Promise<World> =>
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
const ask = (line: string, headers: Headers): Promise<Reply> =>
  send(world.url, line, { headers, ...(/^(POST|PUT)/.test(line) && { body: { title: 'new' } }) })

/** What somebody may do: read, create, and change what is Ann's; and whose the task is that was created. */
async function rightsOf(headers: Headers): Promise<readonly unknown[]> {
  const lines = ['GET /api/task/', 'POST /api/task/', 'PUT /api/task/1/']
  const replies = await Promise.all(lines.map((line) => ask(line, headers)))
  const { account_id: owner } = replies[1]?.status === 201 ? (replies[1].json() as { account_id?: number }) : {}
  return [...replies.map(({ status }) => status), owner]
}
const ofAnn = [200, 201, 200, 1]
const ofBob = [200, 201, 403, 2]
const ofNobody = [200, 401, 401, undefined]

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
    world = await openBehind((app) => {
      app.use(jwt({ secret, algorithms: ['HS256'], key: 'token', passthrough: true }))
      app.use((context, next) => {
        const { token } = context.state
        if (token !== undefined) context.state.user = { id: Number(token.sub) }
        return next()
      })
    })
  })

  test.each([
    ["the owner's", bearer({ sub: '1' }), ofAnn],
    ["another's, not yet expired", bearer({ sub: '2', exp: now + 60 }), ofBob],
    ['an expired one', bearer({ sub: '1', exp: now - 60 }), ofNobody],
    ['of another key', bearer({ sub: '1' }, { key: 'another' }), ofNobody],
    ['of another algorithm', bearer({ sub: '1' }, { alg: 'HS512', hash: 'sha512' }), ofNobody],
    ['unsigned', bearer({ sub: '1' }, { alg: 'none' }), ofNobody],
    ['none', {}, ofNobody],
  ])('a token that is %s', async (_, headers, rights) => {
    expect(await rightsOf(headers)).toEqual(rights)
  })
})

describe('koa-session', () => {
  beforeEach(async () => {
    world = await openBehind((app) => {
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
    const { headers } = await ask(`GET /login/${id}`, {})
    return { Cookie: (headers['set-cookie'] ?? []).map((cookie) => cookie.split(';')[0]).join('; ') }
  }

  test('a cookie says who asks', async () => {
    expect(await rightsOf(await logIn(1))).toEqual(ofAnn)
    expect(await rightsOf(await logIn(2))).toEqual(ofBob)
    expect(await rightsOf({})).toEqual(ofNobody)
  })

  test('a cookie that was changed says nothing', async () => {
    const [{ Cookie: ann }, { Cookie: bob }] = [await logIn(1), await logIn(2)]
    const forged = `${ann.split('; ')[0]}; ${bob.split('; ')[1]}`
    expect(await rightsOf({ Cookie: forged })).toEqual(ofNobody)
  })

  test('a page of another site cannot write with it', async () => {
    const cookie = await logIn(1)
    for (const headers of [{ Origin: 'https://evil.example.org' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
      expect((await ask('PUT /api/task/1/', { ...cookie, ...headers })).status).toBe(403)
    }
  })

  test('one who is deleted is out at once', async () => {
    const cookie = await logIn(2)
    await world.dataSource.getRepository(Account).delete({ id: 2 })
    expect(await rightsOf(cookie)).toEqual(ofNobody)
  })

  test('no password is asked for', async () => {
    const refused = await ask('POST /api/task/', {})
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, undefined])
  })
})
