import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { entities } from '../sample/entities'
import { importPlaces } from '../sample/import'
import { tour } from '../sample/tour'
import { freePort, send } from './client'
import { openWorld, type World } from './world/world'

const root = resolve(__dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'sample-'))

jest.setTimeout(60_000)

interface Sample {
  readonly url: string
  readonly printed: string
  readonly stop: () => Promise<number | null>
}

/** Starts the built sample as its user does, and waits until it says how to end it. */
function start(port: number, ...options: readonly string[]): Promise<Sample> {
  const env = { ...process.env, PORT: String(port), DATABASE: join(folder, 'world.sqlite') }
  const child = spawn(process.execPath, [join(root, 'sample/dist/main.js'), ...options], { env })
  let printed = ''
  return new Promise((done, fail) => {
    child.stderr.on('data', (chunk) => fail(new Error(String(chunk))))
    child.stdout.on('data', (chunk) => {
      printed += chunk
      if (printed.includes('Ctrl-C')) done({ url: `http://127.0.0.1:${port}`, printed, stop: () => interrupt(child) })
    })
  })
}

function interrupt(child: ChildProcess): Promise<number | null> {
  return new Promise((done) => {
    child.once('exit', done)
    child.kill('SIGINT')
  })
}

const statusOf = (curl: string): string =>
  execFileSync('sh', ['-c', `${curl} -s -o ${join(folder, 'answer')} -w '%{http_code}'`], { encoding: 'utf8' })

afterAll(() => rmSync(folder, { recursive: true }))

test('the sample imports, prints, answers each of its curl lines as it says, and ends', async () => {
  const port = await freePort()
  const first = await start(port)
  expect(first.printed).toContain('Imported 135233 cities')
  for (const name of ['language', 'country', 'city', 'user', 'visit'])
    expect(first.printed).toContain(`${first.url}/api/${name}/`)
  const lines = first.printed.split('\n').filter((line) => line.startsWith('  curl'))
  expect(lines.map((line) => line.trim())).toEqual(tour(first.url).map(({ curl }) => curl))
  for (const { title, curl, answer } of [...tour(first.url), ...tour(first.url)]) {
    expect([title, statusOf(curl)]).toEqual([title, answer.slice(0, 3)])
  }

  await expect(start(port, '--reset')).rejects.toThrow(`Port ${port} is taken`)
  expect((await send(first.url, 'GET /api/visit/1/', { headers: bob })).status).toBe(200)
  expect(await first.stop()).toBe(0)

  const second = await start(port)
  expect(second.printed).not.toContain('Imported')
  expect((await send(second.url, 'GET /api/visit/?limit=1000', { headers: bob })).json()).toMatchObject({
    objects: { length: 6 },
  })
  await second.stop()

  const reset = await start(port, '--reset')
  expect((await send(reset.url, 'GET /api/visit/?limit=1000', { headers: bob })).json()).toMatchObject({
    objects: { length: 4 },
  })
  await reset.stop()
})

test.each([
  ['PORT', 'abc', 'PORT must be a number from 1 to 65535, not "abc"'],
  ['PORT', '80.5', 'PORT must be a number'],
  ['DATABASE', tmpdir(), `${tmpdir()} cannot be opened`],
])('the sample with %s=%s ends with a sentence', async (name, value, words) => {
  const env = { ...process.env, PORT: String(await freePort()), DATABASE: join(folder, 'other.sqlite'), [name]: value }
  const ended = spawnSync(process.execPath, [join(root, 'sample/dist/main.js')], { env, encoding: 'utf8' })
  expect([ended.status, ended.stderr]).toEqual([1, expect.stringContaining(words)])
  expect(ended.stderr.trim().split('\n')).toHaveLength(1)
})

const bob = { Authorization: `Basic ${Buffer.from('bob:bob-secret').toString('base64')}` }

describe('the places of the world', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities,
      seed: async (dataSource) => {
        expect(await dataSource.transaction(importPlaces)).toBe(135_233)
      },
    })
  })
  afterAll(() => world.close())

  const get = async (path: string): Promise<List> => (await send(world.url, `GET ${path}`)).json() as List
  const european = '/api/city/?country__region=Europe&population__gte=1000000&ordering=-population'

  test("Europe's five largest cities, in one statement", async () => {
    world.statements()
    const { objects } = await get(`${european}&limit=5`)
    expect(objects.map(({ name }) => name)).toEqual(['Moscow', 'London', 'Saint Petersburg', 'Berlin', 'Madrid'])
    expect(world.statements()).toHaveLength(1)
  })

  test('following next visits every match once', async () => {
    const seen: City[] = []
    for (let path = `${european}&limit=5`; path !== ''; ) {
      const { meta, objects } = await get(path)
      seen.push(...objects)
      path = meta.next
    }
    const whole = await get(`${european}&limit=1000`)
    expect(seen).toEqual(whole.objects)
    expect(new Set(seen.map(({ id }) => id)).size).toBe(38)
    expect(seen.every(({ population }) => population >= 1_000_000)).toBe(true)
  })

  test('borders and languages are imported', async () => {
    const count = async (table: string): Promise<unknown> =>
      (await world.dataSource.query(`SELECT COUNT(*) AS "count" FROM "${table}"`))[0].count
    expect(await count('country')).toBe(250)
    expect(await count('country_languages_language')).toBeGreaterThan(350)
    expect(await count('country_borders_country')).toBeGreaterThan(600)
  })
})

interface City {
  readonly id: number
  readonly name: string
  readonly population: number
}

interface List {
  readonly meta: { readonly next: string }
  readonly objects: readonly City[]
}
