import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { StatementEvent } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { atEnd } from './cleanup'
import { type Cluster, startPostgres, startStandby } from './clusters'
import { Account, Note, Season } from './entities'
import { describeReply, isUnavailable, noDifferences } from './ledger'
import { storedTags } from './mixed-load'
import { openSite, type Site } from './site'
import { byForm, logFigures, sleep, until } from './time'
import { clients, startTraffic } from './traffic'

// Two connections for twenty clients: long enough that no request is refused on a slow machine.
const waitLimit = 5_000
const undisturbedMs = byForm({ short: 500, long: 2_000 })

let primary: Cluster
let standby: Cluster
let site: Site
beforeAll(async () => {
  primary = await startPostgres()
  // The standby cancels queries that conflict with WAL replay at once.
  standby = await startStandby(primary, ['max_standby_streaming_delay=0'])
  site = await openReplicated(2)
  await site.dataSource.getRepository(Season).insert({ name: 'spring' })
  await site.dataSource.getRepository(Account).insert({ username: 'ann', password: 'ann' })
  await replicaIsCurrent()
})

afterEach(async () => {
  await site.dataSource.query('DELETE FROM note')
  await site.dataSource.query('DELETE FROM memo')
})

test('lists and items are read from the replica, and everything that a write reads from the primary', async () => {
  const { url } = site
  await standby.query('SELECT pg_wal_replay_pause()')
  try {
    const posted = await send(url, 'POST /api/note/', { body: { tag: 'new' } })
    const { location = '', etag = '' } = posted.headers
    expect([posted.status, posted.json()]).toMatchObject([201, { tag: 'new', score: 0 }])
    expect((await send(url, 'GET /api/note/')).json()).toMatchObject({ objects: [] })
    expect((await send(url, `GET ${location}`)).status).toBe(404)
    expect((await send(url, `HEAD ${location}`)).status).toBe(404)

    const put = await send(url, `PUT ${location}`, { body: { score: 1 }, headers: { 'If-Match': etag } })
    expect([put.status, put.json()]).toMatchObject([200, { tag: 'new', score: 1 }])
    expect((await send(url, `PUT ${location}`, { body: { score: 2 }, headers: { 'If-Match': etag } })).status).toBe(412)
    const memo = await send(url, 'POST /api/memo/', { body: { tag: 'stored' } })
    expect([memo.status, memo.json()]).toMatchObject([201, { tag: 'stored' }])
    expect((await send(url, `DELETE ${memo.headers.location}`)).status).toBe(204)
  } finally {
    await standby.query('SELECT pg_wal_replay_resume()')
  }
  await replicaIsCurrent()
  expect((await send(url, 'GET /api/note/')).json()).toMatchObject({ objects: [{ tag: 'new', score: 1 }] })
})

test('an ETag of a replica that lags behind gets 412', async () => {
  const { url, dataSource } = site
  const posted = await send(url, 'POST /api/note/', { body: { tag: 'read' } })
  const path = posted.headers.location ?? ''
  await replicaIsCurrent()
  await standby.query('SELECT pg_wal_replay_pause()')
  try {
    await dataSource.getRepository(Note).update({ tag: 'read' }, { score: 5 })
    const { headers } = await send(url, `GET ${path}`)
    expect(headers.etag).toBe(posted.headers.etag)
    const put = await send(url, `PUT ${path}`, { body: { score: 6 }, headers: { 'If-Match': headers.etag ?? '' } })
    expect(put.status).toBe(412)
  } finally {
    await standby.query('SELECT pg_wal_replay_resume()')
  }
})

test('the query `visible` of a custom action reads from the primary, unless the request is a GET', async () => {
  const { url, dataSource, mounted } = await openReplicated(2)
  mounted.router('note').all('/count/', async (context) => {
    const query = context.state.visible<Note>().where('note.tag = :tag', { tag: 'new' })
    context.body = [await query.clone().getCount(), (await query.take(5).getMany()).length]
  })
  await standby.query('SELECT pg_wal_replay_pause()')
  try {
    await dataSource.getRepository(Note).insert({ tag: 'new' })
    expect((await send(url, 'GET /api/note/count/')).json()).toEqual([0, 0])
    expect((await send(url, 'POST /api/note/count/')).json()).toEqual([1, 1])
  } finally {
    await standby.query('SELECT pg_wal_replay_resume()')
  }
})

test('users are read from the primary', async () => {
  const { url, dataSource } = site
  const accounts = dataSource.getRepository(Account)
  const login = async (password: string): Promise<number> => {
    const Authorization = `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`
    return (await send(url, 'GET /api/page/', { headers: { Authorization } })).status
  }
  expect(await login('ann')).toBe(200)
  await standby.query('SELECT pg_wal_replay_pause()')
  try {
    await accounts.update({ username: 'ann' }, { password: 'changed' })
    expect([await login('ann'), await login('changed')]).toEqual([401, 200])
    await accounts.delete({ username: 'ann' })
    expect(await login('changed')).toBe(401)
  } finally {
    await standby.query('SELECT pg_wal_replay_resume()')
  }
})

test('a statement that the replica cancels because of WAL replay is repeated on the primary', async () => {
  const failed: boolean[] = []
  const listen = (event: unknown): number => failed.push((event as StatementEvent).failed)
  subscribe('typeorm-resources:statement', listen)
  // Makes reads of the table slow.
  await primary.query('ALTER TABLE season RENAME TO season_stored')
  await primary.query('CREATE VIEW season AS SELECT id, name FROM season_stored, pg_sleep(0.5)')
  try {
    await replicaIsCurrent()
    const reading = send(site.url, 'GET /api/season/')
    await sleep(200)
    await primary.whileLocked('LOCK TABLE season_stored IN ACCESS EXCLUSIVE MODE', async () => {})
    expect(describeReply(await reading)).toContain('spring')
    expect(failed).toEqual([true, false])
  } finally {
    unsubscribe('typeorm-resources:statement', listen)
    await primary.query('DROP VIEW season')
    await primary.query('ALTER TABLE season_stored RENAME TO season')
    await replicaIsCurrent()
  }
})

test(`while a replica is down, under ${clients} clients, the primary serves reads and health warns; once it is up again it serves reads`, async () => {
  const traffic = startTraffic(site.url)
  try {
    await sleep(undisturbedMs)
    expect(await health()).toBe('200 {"status":"pass"}')
    await standby.kill()
    await sleep(undisturbedMs)
    expect(await health()).toBe('200 {"status":"warn"}')
    await standby.start()
    await sleep(undisturbedMs)
  } finally {
    await traffic.stop()
  }
  const { ledger, answered, surprises } = traffic
  const unavailable = answered.filter(({ status }) => status === 503)
  logFigures('a replica killed', {
    acknowledged: ledger.acknowledged.size,
    reads: answered.filter(({ kind }) => kind === 'read').length,
    'reads answered 503': unavailable.length,
  })
  expect(surprises.slice(0, 5)).toEqual([])
  expect(unavailable.filter(({ kind }) => kind === 'write')).toEqual([])
  // Only statements that ran on a connection as it broke get 503; later requests succeed.
  expect(unavailable.length).toBeLessThanOrEqual(clients)
  expect(ledger.audit(await storedTags(site.dataSource))).toEqual(noDifferences)
  await until('health passes', async () => (await health()) === '200 {"status":"pass"}')
  await standby.query('SELECT pg_wal_replay_pause()')
  await site.dataSource.query('DELETE FROM note')
  expect((await send(site.url, 'GET /api/note/')).text).toContain('"tag"')
  await standby.query('SELECT pg_wal_replay_resume()')
})

test('while a replica is frozen, requests that wait for a connection to it are served by the primary, and health warns', async () => {
  standby.freeze()
  let held: readonly Promise<Reply>[]
  try {
    // These use up the connections to the replica.
    held = Array.from({ length: 2 }, () => send(site.url, 'GET /api/season/1/'))
    const started = performance.now()
    const others = await Promise.all(Array.from({ length: 10 }, () => send(site.url, 'GET /api/season/1/')))
    const took = Math.round(performance.now() - started)
    logFigures(`a replica frozen, wait limit ${waitLimit} ms`, { 'answered after ms': took })
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 200))
    expect(took).toBeLessThan(waitLimit + 1_000)
    expect((await send(site.url, 'POST /api/note/', { body: { tag: 'meanwhile' } })).status).toBe(201)
    expect(await health()).toBe('200 {"status":"warn"}')
  } finally {
    standby.thaw()
  }
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
})

test('with defaultMode "master" a read finds what was just written', async () => {
  const own = await openReplicated(2, 'master')
  await standby.query('SELECT pg_wal_replay_pause()')
  try {
    const { headers } = await send(own.url, 'POST /api/note/', { body: { tag: 'own' } })
    expect((await send(own.url, `GET ${headers.location}`)).status).toBe(200)
  } finally {
    await standby.query('SELECT pg_wal_replay_resume()')
  }
})

test('a site that starts while a replica is down waits for it, since TypeORM connects to all', async () => {
  await standby.stop()
  await expect(openReplicated(2)).rejects.toThrow('ECONNREFUSED')
  await standby.start()
  await openReplicated(2)
})

test('while the primary is down, reads without a login succeed, writes get 503, and health is 503', async () => {
  await primary.stop()
  try {
    expect((await send(site.url, 'GET /api/season/1/')).text).toContain('spring')
    expect(isUnavailable(await send(site.url, 'POST /api/note/', { body: { tag: 'no' } }))).toBe(true)
    expect(isUnavailable(await send(site.url, 'GET /api/page/', { as: 'ann' }))).toBe(true)
    expect(await health()).toContain('503')
  } finally {
    await primary.start()
  }
})

async function openReplicated(max: number, defaultMode?: 'master'): Promise<Site> {
  const replication = { master: primary.source, slaves: [standby.source], defaultMode }
  const opened = await openSite({
    source: { type: 'postgres', replication, extra: { max } },
    mount: { waitLimit, health: true },
  })
  atEnd(opened.close)
  return opened
}

async function health(): Promise<string> {
  const { status, text } = await send(site.url, 'GET /api/health/')
  return `${status} ${text}`
}

/** Resolves when the replica has replayed all writes of the primary. */
async function replicaIsCurrent(): Promise<void> {
  const [row] = await primary.query('SELECT pg_current_wal_lsn() AS lsn')
  const isReplayed = `SELECT pg_last_wal_replay_lsn() >= '${row?.['lsn']}' AS caught`
  await until('the replica catches up', async () => (await standby.query(isReplayed))[0]?.['caught'])
}
