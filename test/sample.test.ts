import { execFileSync, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tour } from '../sample/tour'
import { basic, freePort, send } from './client'
import { create, databaseAt, environment, folder, root, servers, start, ways } from './sample-ways'

beforeAll(async () => {
  for (const server of servers) {
    await create(server, 'sample')
    await create(server, 'other', 'CREATE TABLE account (id INTEGER)')
  }
})

/** curl commands that create records, whose generated ids follow those of the imported records. */
const creations = [
  ['city', { name: 'Atlantis', population: 0, latitude: 36.4, longitude: 25.4, country_id: 1 }],
  ['country', { code: 'ATL', name: 'Atlantis', region: '', subregion: '', area: 0.5, landlocked: false }],
] as const

const statusOf = (curl: string): string =>
  execFileSync('sh', ['-c', `${curl} -s -o ${join(folder, 'answer')} -w '%{http_code}'`], { encoding: 'utf8' })

afterAll(() => rmSync(folder, { recursive: true }))

test.each(ways)(
  'the sample on $name imports its data, prints its URLs, responds to its curl commands as printed, and stops',
  async (way) => {
    const port = await freePort()
    const first = await start(way, port)
    expect(first.printed).toContain('Imported 135233 cities')
    for (const name of ['language', 'country', 'city', 'user', 'visit'])
      expect(first.printed).toContain(`${first.url}/api/${name}/`)
    expect(await send(first.url, 'GET /')).toMatchObject({ status: 302, headers: { location: '/api/' } })
    const lines = first.printed.split('\n').filter((line) => line.startsWith('  curl'))
    expect(lines.map((line) => line.trim())).toEqual(tour(first.url).map(({ curl }) => curl))
    for (const { title, curl, answer } of [...tour(first.url), ...tour(first.url)]) {
      expect([title, statusOf(curl)]).toEqual([title, answer.slice(0, 3)])
    }

    const output = execFileSync(process.execPath, [join(root, 'sample/dist/client.mjs'), first.url], {
      encoding: 'utf8',
    })
    expect(output).toMatch(/^Moscow 10381222\nLondon (.*\n){3,}\d+ \d{4}-\d\d-\d\d /)

    for (const [path, body] of creations) {
      expect((await send(first.url, `POST /api/${path}/`, { headers: ann, body })).status).toBe(201)
    }
    const bad = { city_id: 2643743, rating: 9 }
    expect((await send(first.url, 'POST /api/visit/', { headers: bob, body: bad })).status).toBe(400)

    await expect(start(way, port, '--reset')).rejects.toThrow(`Port ${port} is taken`)
    expect((await send(first.url, 'GET /api/visit/1/', { headers: bob })).status).toBe(200)
    expect(await first.stop()).toBe(0)

    const second = await start({ ...way, script: way.secondScript }, port)
    expect(second.printed).not.toContain('Imported')
    expect((await send(second.url, 'GET /api/visit/?limit=1000', { headers: bob })).json()).toMatchObject({
      objects: { length: 6 },
    })
    await second.stop()

    const reset = await start(way, port, '--reset')
    expect((await send(reset.url, 'GET /api/visit/?limit=1000', { headers: bob })).json()).toMatchObject({
      objects: { length: 4 },
    })
    await reset.stop()
  },
)

test('the tracker prints its URLs, responds to its curl commands, serves its page, and stops', async () => {
  const sample = await start({ script: 'sample:tracker', env: {} }, await freePort())
  for (const name of ['company', 'project', 'task', 'invoice', 'rate']) {
    expect(sample.printed).toContain(`${sample.url}/api/${name}/`)
  }
  const lines = sample.printed.split('\n').filter((line) => line.startsWith('  curl'))
  expect(lines.map(statusOf)).toEqual(['200', '200', '200', '403', '200', '200'])
  expect((await send(sample.url, 'GET /')).text).toContain('<title>Project tracker</title>')
  expect(await sample.stop()).toBe(0)
})

test.each<readonly [name: string, value: string, words: string]>([
  ['PORT', 'abc', 'PORT must be a number from 1 to 65535, not "abc"'],
  ['PORT', '80.5', 'PORT must be a number'],
  ['DATABASE', tmpdir(), `${tmpdir()} cannot be used`],
  ['DATABASE_URL', 'world', 'DATABASE_URL must be a URL'],
  ['DATABASE_URL', 'oracle://ann:pw@127.0.0.1/world', 'must begin with postgres:// or mysql://, not with oracle://'],
  ['DATABASE_URL', 'postgres://127.0.0.1', 'must name a database'],
  ['DATABASE_URL', 'postgres://ann:pw@127.0.0.1:1/world', 'postgres://127.0.0.1:1/world cannot be used'],
  ['DATABASE_URL', 'mysql://ann:pw@127.0.0.1:1/world', 'no server answers there (ECONNREFUSED)'],
  ...servers.flatMap(({ url }) => [
    ['DATABASE_URL', databaseAt(url, 'none'), 'the server has no such database, create it first'] as const,
    ['DATABASE_URL', databaseAt(url, 'other'), 'no others, not account'] as const,
  ]),
])('the sample with %s=%s exits with an error message', async (name, value, words) => {
  const env = { ...environment, PORT: String(await freePort()), DATABASE: join(folder, 'other.sqlite'), [name]: value }
  const ended = spawnSync(process.execPath, [join(root, 'sample/dist/main.js'), '--reset'], { env, encoding: 'utf8' })
  expect([ended.status, ended.stderr]).toEqual([1, expect.stringContaining(words)])
  expect(ended.stderr.trim().split('\n')).toHaveLength(1)
})

const ann = { Authorization: basic('ann', 'ann-secret') }
const bob = { Authorization: basic('bob', 'bob-secret') }
