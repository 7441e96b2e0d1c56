import { send } from '../client'
import { atEnd } from './cleanup'
import { startPostgres } from './clusters'
import { Account } from './entities'
import { noDifferences } from './ledger'
import { mixedLoad } from './mixed-load'
import { startPgbouncer } from './proxies'
import { createSource, openSite, type Site } from './site'
import { logFigures } from './time'

describe('PgBouncer in transaction pooling mode', () => {
  let url: string
  let site: Site
  beforeAll(async () => {
    const cluster = await startPostgres(['statement_timeout=10s'])
    url = await startPgbouncer(cluster, 3)
    site = await openSite({ source: { type: 'postgres', url, extra: { max: 20 } } })
    atEnd(site.close)
  }, 60_000)

  test('all methods work, with a login', async () => {
    await site.dataSource.getRepository(Account).insert({ username: 'ann', password: 'ann' })
    const request = (line: string, body?: object) => send(site.url, line, { as: 'ann', body })
    const posted = await request('POST /api/page/', { title: 'first' })
    const { location = '' } = posted.headers
    expect([posted.status, posted.json()]).toMatchObject([201, { title: 'first' }])
    expect((await request('GET /api/page/?title=first&owner_id=1&ordering=-id')).text).toContain('"first"')
    expect((await request(`PUT ${location}`, { title: 'second' })).json()).toMatchObject({ title: 'second' })
    expect((await request(`GET ${location}`)).text).toContain('"second"')
    expect((await request(`DELETE ${location}`)).status).toBe(204)
    expect((await request(`GET ${location}`)).status).toBe(404)
  })

  test('with more clients than connections no write is lost or mixed up', async () => {
    const { ledger, stored, dirty } = await mixedLoad(site, 200)
    logFigures('20 clients of PgBouncer on 3 connections', { acknowledged: ledger.acknowledged.size })
    expect(ledger.audit(stored)).toEqual(noDifferences)
    expect(dirty).toEqual([])
    const failed = [...ledger.failed].filter((tag) => !/^(veto|undone)/.test(tag))
    expect(failed).toEqual([])
  })

  test('startup parameters for timeouts are refused: the documentation sets them on the role instead', async () => {
    const dataSource = createSource({ type: 'postgres', url, extra: { statement_timeout: 10_000 } })
    await expect(dataSource.initialize()).rejects.toThrow('unsupported startup parameter: statement_timeout')
  })
})
