import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { adminRule, anonymous, Resource, type Rule, userRule } from 'typeorm-resources'
import { send } from '../client'
import { openWorld, type World } from '../world/world'

@Entity()
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

/** Rule of a site with sessions, whose middleware has set the user. */
const session: Rule = ({ context, reads }) => context.state['user'] ?? (reads ? anonymous : null)

@Entity()
@Resource({ auth: session, ownerField: 'member', exclude: ['member'] })
class Post {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Member, { nullable: false }) member!: Member
}

const broken = (() => true) as unknown as Rule
@Entity()
@Resource({ auth: broken })
class Broken {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource({
  auth: async ({ method, credentials, context }) =>
    method === 'GET' && credentials?.username === 'key' && context.get('X-Site') === 'a' ? { id: 'key' } : undefined,
})
class Report {
  @PrimaryGeneratedColumn() id!: number
}

/** Has a rule that returns keys as text, as in JSON Web Tokens. */
@Entity()
@Resource({ auth: ({ context }) => ({ id: context.get('X-Subject') }), ownerField: 'member' })
class Token {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Member) member!: Member | null
}

@Entity()
@Resource({ auth: ({ context }) => context.throw(403, 'not on Sundays') })
class Sunday {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource({ auth: () => anonymous, ownerField: 'member' })
class Nobodys {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Member) member!: Member | null
}

/** Everybody may read it. */
@Entity()
@Resource({ scope: () => true })
class City {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

@Entity()
@Resource({ auth: session })
class Visit {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => City, { nullable: false }) city!: City
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Member, Post, City, Visit, Broken, Report, Token, Sunday, Nobodys],
    seed: async (dataSource) => {
      await dataSource.getRepository(Member).insert([{ name: 'one' }, { name: 'two' }])
      await dataSource.getRepository(City).insert({ name: 'Paris' })
    },
    before: (app) =>
      app.use(async (context, next) => {
        const id = Number(context.get('X-User'))
        if (id > 0) context.state['user'] = { id, name: 'not shown' }
        await next()
      }),
  })
})
afterAll(() => world.close())

const as = (id: number): { headers: Record<string, string> } => ({ headers: { 'X-User': String(id) } })

test('an access rule of the application can use sessions, and restricts writes to owners by a hidden foreign key', async () => {
  expect((await send(world.url, 'POST /api/post/', { body: { text: 'x' } })).status).toBe(401)
  const made = await send(world.url, 'POST /api/post/', { ...as(1), body: { text: 'x', member_id: 2 } })
  expect([made.status, made.json()]).toEqual([201, { id: 1, text: 'x' }])
  expect((await send(world.url, 'PUT /api/post/1/', { ...as(2), body: { text: 'y' } })).status).toBe(403)
  expect((await send(world.url, 'DELETE /api/post/1/', as(2))).status).toBe(403)
  expect((await send(world.url, 'PUT /api/post/1/', { ...as(1), body: { text: 'y' } })).json()).toEqual({
    id: 1,
    text: 'y',
  })
  expect((await send(world.url, 'GET /api/post/1/')).json()).toEqual({ id: 1, text: 'y' })
  expect((await send(world.url, 'GET /api/post/?member=1')).status).toBe(400)
  expect((await send(world.url, 'DELETE /api/post/1/', as(1))).status).toBe(204)
})

test('an access rule can be asynchronous, and receives method, credentials and context', async () => {
  const headers = { Authorization: `Basic ${Buffer.from('key:').toString('base64')}` }
  expect((await send(world.url, 'GET /api/report/', { headers: { ...headers, 'X-Site': 'a' } })).status).toBe(200)
  expect((await send(world.url, 'GET /api/report/', { headers: { ...headers, 'X-Site': 'b' } })).status).toBe(401)
  expect(
    (await send(world.url, 'POST /api/report/', { headers: { ...headers, 'X-Site': 'a' }, body: {} })).status,
  ).toBe(401)
})

test('an access rule that does not return a principal is a fault of the application, and permits nothing', async () => {
  const before = world.faults.length
  const reply = await send(world.url, 'GET /api/broken/')
  expect([reply.status, reply.headers['content-type']]).toEqual([500, 'application/problem+json; charset=utf-8'])
  expect(world.faults.slice(before)).toEqual([expect.objectContaining({ message: expect.stringContaining('broken') })])
})

test('an access rule can return the key of a user as text', async () => {
  const by = (id: string): { headers: Record<string, string> } => ({ headers: { 'X-Subject': id } })
  const made = await send(world.url, 'POST /api/token/', { ...by('2'), body: { text: 'x' } })
  expect([made.status, made.json()]).toEqual([201, { id: 1, text: 'x', member_id: 2 }])
  const put = async (id: string): Promise<number> =>
    (await send(world.url, 'PUT /api/token/1/', { ...by(id), body: { text: 'y' } })).status
  expect([await put('2'), await put('1'), await put('2x')]).toEqual([200, 403, 500])
  expect((await send(world.url, 'POST /api/token/', { ...by('2x'), body: { text: 'x' } })).status).toBe(500)
})

test('anonymous users can read records with owners, but not write them', async () => {
  expect((await send(world.url, 'GET /api/nobodys/')).status).toBe(200)
  expect((await send(world.url, 'POST /api/nobodys/', { body: {} })).status).toBe(401)
  expect((await send(world.url, 'DELETE /api/nobodys/1/')).status).toBe(401)
})

test("an HTTP error that a rule throws becomes Koa's response", async () => {
  const reply = await send(world.url, 'GET /api/sunday/')
  expect([reply.status, reply.text]).toEqual([403, 'not on Sundays'])
})

test('the mount reports the names of the rules', () => {
  expect(world.mounted.resources.map(({ name, rule }) => [name, rule])).toEqual([
    ['post', 'session'],
    ['broken', 'broken'],
    ['report', 'custom'],
    ['token', 'custom'],
    ['sunday', 'custom'],
    ['nobodys', 'custom'],
    ['city', 'read-only'],
    ['visit', 'session'],
  ])
})

test.each([
  [
    userRule,
    'public',
    `userRule() must be called with an object of options, not "public": write userRule({ read: 'public' })`,
  ],
  [
    userRule,
    () => true,
    `userRule() must be called with an object of options, not a function: write userRule({ read: 'public' })`,
  ],
  [
    adminRule,
    null,
    `adminRule() must be called with an object of options, not null: write adminRule({ read: 'public' })`,
  ],
  [userRule, { raed: 'public' }, 'userRule() has an unknown option "raed"; options: read'],
  [adminRule, { raed: 'public' }, 'adminRule() has an unknown option "raed"; options: read'],
  [userRule, { read: 'private' }, 'userRule(): "read" must be "public" or undefined, not "private"'],
  [adminRule, { read: 'private' }, 'adminRule(): "read" must be "public" or undefined, not "private"'],
])('the options of a rule are checked when it is created: %p(%j)', (rule, options, message) => {
  expect(() => rule(options as never)).toThrow(new TypeError(message))
})

test.each([{}, { Authorization: 'Basic d3Jvbmc6d3Jvbmc=' }])(
  'a user of a session can use relations to resources that everybody may read, with the headers %j',
  async (headers) => {
    const options = { headers: { 'X-User': '1', ...headers } }
    const created = await send(world.url, 'POST /api/visit/', { ...options, body: { city_id: 1 } })
    expect(created.status).toBe(201)
    const list = await send(world.url, 'GET /api/visit/?city__name=Paris&limit=1&include=city', options)
    expect(list.json()).toMatchObject({ objects: [{ city_id: 1, city: { name: 'Paris' } }] })
  },
)
