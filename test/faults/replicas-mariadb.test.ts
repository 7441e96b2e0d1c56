import { type Reply, send } from '../client'
import { atEnd } from './cleanup'
import { type Cluster, startMariadb } from './clusters'
import { describeReply } from './ledger'
import { createSource, type Site, serveSite } from './site'
import { sleep, until } from './time'

const restoreNodeTimeout = 300

let primary: Cluster
let replica: Cluster
beforeAll(async () => {
  ;[primary, replica] = await Promise.all([
    startMariadb(['server-id=1', 'log-bin=binlog']),
    startMariadb(['server-id=2']),
  ])
  const { hostname, port, username } = new URL(primary.source.url)
  const access = `MASTER_HOST='${hostname}', MASTER_PORT=${port}, MASTER_USER='${username}'`
  await replica.query(`CHANGE MASTER TO ${access}, MASTER_USE_GTID=slave_pos`)
  await replica.query('START SLAVE')
})

afterEach(() => primary.query('DELETE FROM note'))

test('the replica serves reads and the primary serves writes; without the replica the primary serves all, and health warns', async () => {
  const { url } = await openReplicated({ restoreNodeTimeout })
  await replica.query('STOP SLAVE SQL_THREAD')
  const { headers } = await send(url, 'POST /api/note/', { body: { tag: 'new' } })
  const path = headers.location ?? ''
  expect((await send(url, `GET ${path}`)).status).toBe(404)
  expect((await send(url, `PUT ${path}`, { body: { score: 1 } })).json()).toMatchObject({ tag: 'new', score: 1 })
  await replica.query('START SLAVE SQL_THREAD')
  await until('the replica catches up', async () => (await send(url, `GET ${path}`)).text.includes('"score":1'))
  expect(await health(url)).toBe('200 {"status":"pass"}')

  await replica.kill()
  const replies = await Promise.all(Array.from({ length: 5 }, () => send(url, `GET ${path}`)))
  // Statements that run on a connection as it breaks get 503; later requests succeed.
  expect(replies.filter(({ status }) => ![200, 503].includes(status)).map(describeReply)).toEqual([])
  expect((await send(url, `GET ${path}`)).status).toBe(200)
  expect(await health(url)).toBe('200 {"status":"warn"}')
  await replica.start()
  await until('health passes', async () => (await health(url)) === '200 {"status":"pass"}')
})

test.each([
  { options: { restoreNodeTimeout }, becomes: 201, warned: false },
  { options: {}, becomes: 503, warned: true },
])('after a short outage of the primary, with $options: $becomes', async ({ options, becomes, warned }) => {
  const logged: string[] = []
  const { url } = await openReplicated(options, logged)
  const post = (tag: string): Promise<Reply> => send(url, 'POST /api/note/', { body: { tag } })
  expect((await post('before')).status).toBe(201)
  await primary.stop()
  expect((await post('meanwhile')).status).toBe(503)
  await primary.start()
  await sleep(restoreNodeTimeout * 2)
  expect((await post('afterwards')).status).toBe(becomes)
  expect(logged.some((message) => message.includes('replication without restoreNodeTimeout'))).toBe(warned)
})

async function openReplicated(options: object, logged: string[] = []): Promise<Site> {
  const replication = { master: primary.source, slaves: [replica.source], ...options }
  const dataSource = createSource({ type: 'mariadb', replication })
  Object.assign(dataSource.logger, { log: (_: string, message: string) => void logged.push(message) })
  const site = await serveSite(await dataSource.initialize(), { mount: { health: true } })
  atEnd(site.close)
  return site
}

async function health(url: string): Promise<string> {
  const { status, text } = await send(url, 'GET /api/health/')
  return `${status} ${text}`
}
