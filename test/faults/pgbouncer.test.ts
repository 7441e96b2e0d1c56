import { send } from '../client'
import { atEnd } from './cleanup'
import { startPostgres } from './clusters'
import { Account } from './entities'
import { inOrder } from './ledger'
import { mixedLoad } from './mixed-load'
import { startPgbouncer } from './proxies'
import { createSource, openSite, type Site } from './site'
import { tell } from './time'

describe('PgBouncer, a connection for each transaction', () => {
  let url: string
  let site: Site
  beforeAll(async () => {
    const cluster = await startPostgres(['statement_timeout=10s'])
    url = await startPgbouncer(cluster, 3)
    site = await openSite({ source: { type: 'postgres', url, extra: { max: 20 } } })
    atEnd(site.close)
  }, 60_000)

  test('a record through all methods, with a login', async () => {
    await site.dataSource.getRepository(Account).insert({ username: 'ann', password: 'ann' })
    const ask = (line: string, body?: object) => send(site.url, line, { as: 'ann', body })
    const posted = await ask('POST /api/page/', { title: 'first' })
    const { location = '' } = posted.headers
    expect([posted.status, posted.json()]).toMatchObject([201, { title: 'first' }])
    expect((await ask('GET /api/page/?title=first&owner_id=1&ordering=-id')).text).toContain('"first"')
    expect((await ask(`PUT ${location}`, { title: 'second' })).json()).toMatchObject({ title: 'second' })
    expect((await ask(`GET ${location}`)).text).toContain('"second"')
    expect((await ask(`DELETE ${location}`)).status).toBe(204)
    expect((await ask(`GET ${location}`)).status).toBe(404)
  })

  test('more clients than connections, each for a transaction: nothing is lost or mixed up', async () => {
    const { ledger, stored, dirty } = await mixedLoad(site, 200)
    tell('20 clients of PgBouncer on 3 connections', { acknowledged: ledger.acknowledged.size })
    expect(ledger.audit(stored)).toEqual(inOrder)
    expect(dirty).toEqual([])
    const failed = [...ledger.failed].filter((tag) => !/^(veto|undone)/.test(tag))
    expect(failed).toEqual([])
  })

  test('what is asked for at the start of a connection is refused: time-outs belong to the role', async () => {
    const dataSource = createSource({ type: 'postgres', url, extra: { statement_timeout: 10_000 } })
    await expect(dataSource.initialize()).rejects.toThrow('unsupported startup parameter: statement_timeout')
  })
})
