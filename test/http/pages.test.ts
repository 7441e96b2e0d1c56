import Koa from 'koa'
import mount from 'koa-mount'
import { type DataSource, type DataSourceOptions, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { adminRule, hashPassword, type MountOptions, mountResources, userRule } from 'typeorm-resources'
import { entities, User } from '../../sample/entities'
import { type Reply, type SendOptions, send } from '../client'
import { worldPerTest } from '../support/world-per-test'
import { createDataSource } from '../world/leg'
import { seedSample } from '../world/sample'
import type { WorldOptions } from '../world/world'

/** The pages besides records: the list of resources, the OpenAPI document, and the explorer. */

@Entity()
class Plain {
  @PrimaryGeneratedColumn() id!: number
}

const openForTest = worldPerTest()

interface Site {
  readonly mount?: MountOptions
  readonly entities?: DataSourceOptions['entities']
}

/** Opens a site with the resources of the sample. @returns a function that sends requests to it */
async function open(
  site: Site = {},
  others: WorldOptions = {},
): Promise<(line: string, options?: SendOptions) => Promise<Reply>> {
  const seed = site.entities === undefined ? { seed: seedSample } : {}
  const { url } = await openForTest({ entities, ...seed, ...site, ...others })
  return (line, options) => send(url, line, options)
}

const html = { headers: { Accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' } }

test('the path of a mount responds with a list of resources, and to browsers with the explorer', async () => {
  const request = await open()
  for (const [line, options] of [
    ['GET /api/', {}],
    ['GET /api', {}],
    ['GET /api/', { headers: { Accept: 'application/json' } }],
  ] as const) {
    const reply = await request(line, options)
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
  const page = await request('GET /api/', html)
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  const long = await request('GET /api/', { headers: { Accept: 'text/html;a='.padEnd(1025, '"') } })
  expect(long.headers['content-type']).toContain('application/json')
  expect(page.text).toContain('src="/api/-/explorer.js"')
  expect(await request('HEAD /api/', html)).toMatchObject({ status: 200, text: '' })
})

test.each(['/api/', '/api/docs/'])('%s loads files of its own origin only', async (path) => {
  const request = await open()
  const { headers, text } = await request(`GET ${path}`, html)
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/)
  expect(headers['x-content-type-options']).toBe('nosniff')
  const addresses = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address)
  expect(addresses.length).toBeGreaterThan(2)
  for (const address of addresses.filter((one) => one !== 'data:,' && one !== '/api/')) {
    expect(address).toMatch(/^\/api\//)
    const part = await request(`GET ${address}`)
    expect([address, part.status, part.headers['content-type']]).toEqual([
      address,
      200,
      address.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
    ])
    const again = await request(`GET ${address}`, { headers: { 'If-None-Match': String(part.headers['etag']) } })
    expect([again.status, again.text]).toEqual([304, ''])
  }
})

test('the OpenAPI document has a strong ETag, and is not sent again if it is unchanged', async () => {
  const request = await open()
  const first = await request('GET /api/openapi.json')
  expect(first).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', etag: expect.stringMatching(/^"/) },
  })
  const again = await request('GET /api/openapi.json', { headers: { 'If-None-Match': String(first.headers['etag']) } })
  expect([again.status, again.text]).toEqual([304, ''])
  expect(await request('HEAD /api/openapi.json')).toMatchObject({ status: 200, text: '' })
})

test('the OpenAPI document contains the option "info"', async () => {
  const request = await open({
    mount: { info: { title: 'Places', version: '2.1.0', description: undefined as never } },
  })
  expect((await request('GET /api/openapi.json')).json()).toMatchObject({
    info: { title: 'Places', version: '2.1.0', description: expect.stringContaining('filtered') },
  })
})

/** Options that disable pages, the disabled paths, which are passed to the next middleware, and the remaining ones. */
const closed: readonly (readonly [MountOptions, readonly string[], readonly string[]])[] = [
  [
    { openapi: false },
    ['/api/', '/api/openapi.json', '/api/docs/', '/api/-/explorer.js', '/api/-/password'],
    ['/api/city/'],
  ],
  [{ explorer: false }, ['/api/docs/', '/api/-/explorer.js', '/api/-/password'], ['/api/', '/api/openapi.json']],
]
test.each(closed)('with %j the application handles the disabled paths', async (options, left, kept) => {
  const request = await open({ mount: options })
  for (const path of left) expect([path, (await request(`GET ${path}`, html)).text]).toEqual([path, 'Not Found'])
  for (const path of kept) {
    const { status, headers } = await request(`GET ${path}`, html)
    expect([path, status, headers['content-type']]).toEqual([path, 200, 'application/json; charset=utf-8'])
  }
})

test('with an access rule, only permitted users can read the names of resources and fields', async () => {
  const request = await open({ mount: { openapi: userRule() } })
  for (const path of ['/api/', '/api/openapi.json']) {
    const refused = await request(`GET ${path}`)
    expect([path, refused.status, refused.text]).toEqual([path, 401, 'Authentication failed'])
    const shown = await request(`GET ${path}`, { as: 'bob' })
    expect([path, shown.status, shown.headers['cache-control']]).toEqual([path, 200, 'private, no-cache'])
  }
  // The explorer contains no names, and shows a login.
  const page = await request('GET /api/', html)
  expect([page.status, page.text.includes('city')]).toEqual([200, false])
})

test('the session shows the user who is signed in, and is 401 for others', async () => {
  const request = await open()
  expect((await request('GET /api/-/session', { as: 'bob' })).json()).toEqual({ id: 2, admin: false })
  for (const options of [{}, { as: 'nobody' }, { headers: { Authorization: 'Basic !' } }]) {
    expect(await request('GET /api/-/session', options)).toMatchObject({ status: 401, text: 'Authentication failed' })
  }
})

test.each<MountOptions>([{ openapi: adminRule() }, { openapi: false }, { explorer: false }])(
  'the session depends on no option of the pages: %j',
  async (mount) => {
    const request = await open({ mount })
    expect((await request('GET /api/-/session', { as: 'bob' })).json()).toEqual({ id: 2, admin: false })
    expect(await request('GET /api/-/session')).toMatchObject({ status: 401, text: 'Authentication failed' })
  },
)

test('if all rules are for administrators, the session is 401 for other users, even if their password is right', async () => {
  const seed = async (dataSource: DataSource): Promise<void> => {
    for (const username of ['ann', 'bob']) {
      const password = await hashPassword(username)
      const user = { username, password, email: `${username}@mail.example`, admin: username === 'ann' }
      await dataSource.getRepository(User).insert(user)
    }
  }
  const request = await open({ entities: [User] }, { seed })
  expect((await request('GET /api/-/session', { as: 'ann' })).json()).toEqual({ id: 1, admin: true })
  expect(await request('GET /api/-/session', { as: 'bob' })).toMatchObject({
    status: 401,
    text: 'Authentication failed',
  })
})

test('a site without users has an explorer, and the session is always 401', async () => {
  const request = await open({ entities: [Plain], mount: { resources: [{ entity: Plain }] } })
  expect((await request('GET /api/', html)).status).toBe(200)
  expect((await request('GET /api/-/session', { as: 'bob' })).status).toBe(401)
  expect((await request('GET /api/openapi.json')).text).not.toContain('securitySchemes')
})

test('other methods than GET and HEAD are passed to the application', async () => {
  const request = await open()
  for (const path of ['/api/', '/api/openapi.json', '/api/docs/']) {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect([path, (await request(`${method} ${path}`)).text]).toEqual([path, 'Not Found'])
    }
  }
})

test('under koa-mount, and at the root, all URLs contain the whole path', async () => {
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
  const atRoot = await open({ mount: { prefix: '/' } })
  expect((await atRoot('GET /openapi.json')).json()).toMatchObject({ servers: [{ url: '/' }] })
  expect((await atRoot('GET /', html)).text).toContain('src="/-/explorer.js"')
  expect((await atRoot('GET /')).json()).toMatchObject({ openapi: '/openapi.json' })
})

test('before the database is connected the explorer is available, and the OpenAPI document is not', async () => {
  const dataSource = await createDataSource({ entities, synchronize: true })
  const { url } = await openForTest({
    entities,
    mountOn: (app) => mountResources(app, dataSource, { prefix: '/late' }),
  })
  const request = (path: string, options = {}): Promise<Reply> => send(url, `GET ${path}`, options)
  expect((await request('/late/', html)).status).toBe(200)
  for (const path of ['/late/openapi.json', '/late/', '/late/-/session']) {
    const { status, headers } = await request(path)
    expect([path, status, headers['retry-after']]).toEqual([path, 503, '1'])
  }
  await dataSource.initialize()
  expect((await request('/late/openapi.json')).status).toBe(200)
  await dataSource.destroy()
})
