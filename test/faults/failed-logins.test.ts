import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { basic, send } from '../client'
import { recorder } from '../world/leg'
import { atEnd } from './cleanup'
import { Account } from './entities'
import { type RedisServer, startRedis } from './redis'
import { openSite, type Site } from './site'
import { until } from './time'

const prefix = `auth_server:${process.pid}`

let redis: RedisServer
const clients: Redis[] = []
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => {
  for (const client of clients) client.disconnect()
})

/** Opens a site whose limiters are in Redis, as several processes of an application share them. */
const open = async (name: string): Promise<{ site: Site; client: Redis; warnings: string[] }> => {
  const client = new Redis(redis.port, { retryStrategy: () => 50 })
  client.on('error', () => undefined)
  clients.push(client)
  const limiter = (by: string) =>
    new RateLimiterRedis({ storeClient: client, keyPrefix: `${prefix}:${name}:${by}`, points: 3, duration: 60 })
  const warnings: string[] = []
  const logger = recorder(
    () => undefined,
    (line) => void (line.includes('failedLogins') && warnings.push(line)),
  )
  const site = await openSite({
    source: { type: 'better-sqlite3', database: ':memory:', logging: ['warn'], logger },
    mount: { failedLogins: { byName: limiter('name'), byAddress: limiter('address') } },
  })
  atEnd(site.close)
  await site.dataSource.getRepository(Account).insert({ username: 'ann', password: 'ann' })
  return { site, client, warnings }
}

const login = async ({ url }: Site, password: string, name = 'ann'): Promise<number> =>
  (await send(url, 'GET /api/page/', { headers: { Authorization: basic(name, password) } })).status

const logins = async (site: Site, passwords: readonly string[]): Promise<readonly number[]> => {
  const statuses: number[] = []
  for (const password of passwords) statuses.push(await login(site, password))
  return statuses
}

test('sites that share a Redis share the failures, and Redis contains neither names nor passwords', async () => {
  const [one, other] = [await open('shared'), await open('shared')]
  expect(await logins(one.site, ['guess', 'guess 2'])).toEqual([401, 401])
  expect(await logins(other.site, ['guess 3', 'ann', 'ann'])).toEqual([401, 429, 429])
  expect(await login(one.site, 'ann')).toBe(429)
  const keys = await one.client.keys(`${prefix}:shared:*`)
  const stored = await one.client.mget(keys)
  expect([keys.length, `${keys} ${stored}`.match(/ann|guess/)]).toEqual([2, null])
  expect(one.warnings).toEqual([])
})

test('while Redis does not answer or is lost, logins work and are not limited, and afterwards they are again', async () => {
  const { site, warnings } = await open('lost')
  expect(await logins(site, ['guess', 'ann'])).toEqual([401, 200])
  redis.pause()
  expect(await logins(site, ['ann', 'x', 'x', 'x', 'ann'])).toEqual([200, 401, 401, 401, 200])
  redis.resume()
  await redis.stop()
  expect(await logins(site, ['ann', 'x', 'ann'])).toEqual([200, 401, 200])
  redis = await startRedis(redis.port)
  await until('failures are counted again', async () => (await login(site, 'wrong again')) === 429)
  expect(await login(site, 'ann')).toBe(429)
  expect(site.faults).toEqual([])
  expect(warnings.length).toBeGreaterThan(0)
  expect(warnings[0]).toMatch(/failed logins are not limited for 5 s, because "failedLogins\.by(Name|Address)": /)
})
