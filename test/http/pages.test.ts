import Koa from 'koa'
import mount from 'koa-mount'
import { type DataSource, type DataSourceOptions, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { adminRule, hashPassword, type MountOptions, mountResources, userRule } from 'typeorm-resources'
import { entities, User } from '../../sample/entities'
import { type Reply, type SendOptions, send } from '../client'
import { createDataSource } from '../world/leg'
import { seedSample } from '../world/sample'
import { openWorld, type World, type WorldOptions } from '../world/world'

/** What is read besides records: the list of resources, the description, and the pages for people. */

@Entity()
class Plain {
  @PrimaryGeneratedColumn() id!: number
}

let world: World | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

interface Site {
  readonly mount?: MountOptions
  readonly entities?: DataSourceOptions['entities']
}

/** Opens the sample's resources. @returns what asks them */
async function open(
  site: Site = {},
  others: WorldOptions = {},
): Promise<(line: string, options?: SendOptions) => Promise<Reply>> {
  const seed = site.entities === undefined ? { seed: seedSample } : {}
  world = await openWorld({ entities, ...seed, ...site, ...others })
  const { url } = world
  return (line, options) => send(url, line, options)
}

const html = { headers: { Accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' } }

test('at its path a mount lists its resources for a program, and is a page for a browser', async () => {
  const ask = await open()
  for (const [line, options] of [
    ['GET /api/', {}],
    ['GET /api', {}],
    ['GET /api/', { headers: { Accept: 'application/json' } }],
  ] as const) {
    const reply = await ask(line, options)
    expect(reply).toMatchObject({ status: 200, headers: { vary: expect.stringContaining('Accept') } })
    expect(reply.json()).toMatchObject({
      openapi: '/api/openapi.json',
      resources: [
        { name: 'language', path: '/api/language/', description: expect.stringContaining('official') },
        { name: 'country', path: '/api/country/' },
        { name: 'city', path: '/api/city/' },
        { name: 'user', path: '/api/user/' },
        { name: 'visit', path: '/api/visit/' },
      ],
    })
  }
  const page = await ask('GET /api/', html)
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  expect(page.text).toContain('src="/api/-/explorer.js"')
  expect(await ask('HEAD /api/', html)).toMatchObject({ status: 200, text: '' })
})

test.each(['/api/', '/api/docs/'])('%s loads and asks nothing but its own origin', async (path) => {
  const ask = await open()
  const { headers, text } = await ask(`GET ${path}`, html)
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/)
  expect(headers['x-content-type-options']).toBe('nosniff')
  const addresses = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address)
  expect(addresses.length).toBeGreaterThan(2)
  for (const address of addresses.filter((one) => one !== 'data:,')) {
    expect(address).toMatch(/^\/api\//)
    const part = await ask(`GET ${address}`)
    expect([address, part.status, part.headers['content-type']]).toEqual([
      address,
      200,
      address.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
    ])
    const again = await ask(`GET ${address}`, { headers: { 'If-None-Match': String(part.headers['etag']) } })
    expect([again.status, again.text]).toEqual([304, ''])
  }
})

test('the description has a strong validator, and is not sent twice', async () => {
  const ask = await open()
  const first = await ask('GET /api/openapi.json')
  expect(first).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', etag: expect.stringMatching(/^"/) },
  })
  const again = await ask('GET /api/openapi.json', { headers: { 'If-None-Match': String(first.headers['etag']) } })
  expect([again.status, again.text]).toEqual([304, ''])
  expect(await ask('HEAD /api/openapi.json')).toMatchObject({ status: 200, text: '' })
})

test('what "info" says is in the description', async () => {
  const ask = await open({ mount: { info: { title: 'Places', version: '2.1.0', description: undefined as never } } })
  expect((await ask('GET /api/openapi.json')).json()).toMatchObject({
    info: { title: 'Places', version: '2.1.0', description: expect.stringContaining('filtered') },
  })
})

/** What is closed is the next middleware's. */
const closed: readonly (readonly [MountOptions, readonly string[], readonly string[]])[] = [
  [
    { openapi: false },
    ['/api/', '/api/openapi.json', '/api/docs/', '/api/-/explorer.js', '/api/-/session'],
    ['/api/city/'],
  ],
  [{ explorer: false }, ['/api/docs/', '/api/-/explorer.js', '/api/-/session'], ['/api/', '/api/openapi.json']],
]
test.each(closed)('%j leaves the others to the application', async (options, left, kept) => {
  const ask = await open({ mount: options })
  for (const path of left) expect([path, (await ask(`GET ${path}`, html)).text]).toEqual([path, 'Not Found'])
  for (const path of kept) {
    const { status, headers } = await ask(`GET ${path}`, html)
    expect([path, status, headers['content-type']]).toEqual([path, 200, 'application/json; charset=utf-8'])
  }
})

test('with a rule, only whom it lets read learns the names of resources and fields', async () => {
  const ask = await open({ mount: { openapi: userRule() } })
  for (const path of ['/api/', '/api/openapi.json']) {
    const refused = await ask(`GET ${path}`)
    expect([path, refused.status, refused.text]).toEqual([path, 401, 'Authentication failed'])
    const shown = await ask(`GET ${path}`, { as: 'bob' })
    expect([path, shown.status, shown.headers['cache-control']]).toEqual([path, 200, 'private, no-cache'])
  }
  // The page has no name in it, and asks who is there.
  const page = await ask('GET /api/', html)
  expect([page.status, page.text.includes('city')]).toEqual([200, false])
})

test('who has signed in is told who he is, and nobody else anything', async () => {
  const ask = await open()
  expect((await ask('GET /api/-/session', { as: 'bob' })).json()).toEqual({ id: 2, admin: false })
  for (const options of [{}, { as: 'nobody' }, { headers: { Authorization: 'Basic !' } }]) {
    expect(await ask('GET /api/-/session', options)).toMatchObject({ status: 401, text: 'Authentication failed' })
  }
})

test('whom the description is closed to is not told that his password is right', async () => {
  const ask = await open({ mount: { openapi: adminRule() } })
  expect((await ask('GET /api/-/session', { as: 'ann' })).json()).toEqual({ id: 1, admin: true })
  expect(await ask('GET /api/-/session', { as: 'bob' })).toMatchObject({ status: 401, text: 'Authentication failed' })
})

test('where all rules are for administrators, nobody else is told that his password is right', async () => {
  const seed = async (dataSource: DataSource): Promise<void> => {
    for (const username of ['ann', 'bob']) {
      const password = await hashPassword(username)
      const user = { username, password, email: `${username}@mail.example`, admin: username === 'ann' }
      await dataSource.getRepository(User).insert(user)
    }
  }
  const ask = await open({ entities: [User] }, { seed })
  expect((await ask('GET /api/-/session', { as: 'ann' })).json()).toEqual({ id: 1, admin: true })
  expect(await ask('GET /api/-/session', { as: 'bob' })).toMatchObject({ status: 401, text: 'Authentication failed' })
})

test('a site without users has a page too, where nobody signs in', async () => {
  const ask = await open({ entities: [Plain], mount: { resources: [{ entity: Plain }] } })
  expect((await ask('GET /api/', html)).status).toBe(200)
  expect((await ask('GET /api/-/session', { as: 'bob' })).status).toBe(401)
  expect((await ask('GET /api/openapi.json')).text).not.toContain('securitySchemes')
})

test('only GET and HEAD are pages; what is sent by other methods is for the application', async () => {
  const ask = await open()
  for (const path of ['/api/', '/api/openapi.json', '/api/docs/']) {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect([path, (await ask(`${method} ${path}`)).text]).toEqual([path, 'Not Found'])
    }
  }
})

test('under koa-mount, and at the root, every address holds the whole path', async () => {
  const atV1 = await open(
    {},
    {
      mountOn: (app, dataSource) => {
        const inner = new Koa()
        const mounted = mountResources(inner, dataSource)
        app.use(mount('/v1', inner))
        return mounted
      },
    },
  )
  expect((await atV1('GET /v1/api/openapi.json')).json()).toMatchObject({ servers: [{ url: '/v1/api' }] })
  expect((await atV1('GET /v1/api/')).json()).toMatchObject({ openapi: '/v1/api/openapi.json' })
  expect((await atV1('GET /v1/api/', html)).text).toContain('data-root="/v1/api"')
  await world?.close()
  const atRoot = await open({ mount: { prefix: '/' } })
  expect((await atRoot('GET /openapi.json')).json()).toMatchObject({ servers: [{ url: '/' }] })
  expect((await atRoot('GET /', html)).text).toContain('src="/-/explorer.js"')
  expect((await atRoot('GET /')).json()).toMatchObject({ openapi: '/openapi.json' })
})

test('while the database is not connected, the page is there and its description is not', async () => {
  const dataSource = await createDataSource({ entities, synchronize: true })
  world = await openWorld({ entities, mountOn: (app) => mountResources(app, dataSource, { prefix: '/late' }) })
  const ask = (path: string, options = {}): Promise<Reply> => send(world?.url ?? '', `GET ${path}`, options)
  expect((await ask('/late/', html)).status).toBe(200)
  for (const path of ['/late/openapi.json', '/late/', '/late/-/session']) {
    const { status, headers } = await ask(path)
    expect([path, status, headers['retry-after']]).toEqual([path, 503, '1'])
  }
  await dataSource.initialize()
  expect((await ask('/late/openapi.json')).status).toBe(200)
  await dataSource.destroy()
})
