import { EntitySchema } from 'typeorm'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { idsOf, readPages } from '../support/pages'
import { recorder } from '../world/leg'
import { atEnd } from './cleanup'
import { startPostgres } from './clusters'
import { Account } from './entities'
import { noDifferences } from './ledger'
import { mixedLoad } from './mixed-load'
import { startPgbouncer } from './proxies'
import { createSource, openSite, type Site } from './site'
import { logFigures, until } from './time'

const Measurement = new EntitySchema<{ id: number }>({
  name: 'measurement',
  columns: {
    id: { type: Number, primary: true, generated: true },
    value: { type: 'double precision' },
    duration: { type: 'interval' },
    names: { type: 'text', array: true },
  } as never,
})

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

describe('PgBouncer in transaction pooling mode, with a role whose defaults are other formats', () => {
  const defaults = { DateStyle: 'German', IntervalStyle: 'iso_8601', extra_float_digits: '0', array_nulls: 'off' }

  /** Opens a site, and passes it to `work` with the warning about formats that the mount has logged. */
  const withSite = async (url: string, work: (site: Site, warning: string | undefined) => Promise<void>) => {
    const lines: string[] = []
    const logger = recorder(
      () => {},
      (line) => lines.push(line),
    )
    const source = { type: 'postgres', url, extra: { max: 20 }, entities: [Measurement], subscribers: [], logger }
    const mount = { statementTimeout: 0, resources: [{ entity: Measurement, auth: permitAll }] }
    const site = await openSite({ source, mount })
    try {
      // This warning is logged together with the other one.
      await until('the mount has logged its warnings', () =>
        lines.some((line) => line.includes('no statement_timeout')),
      )
      await work(
        site,
        lines.find((line) => line.includes('defaults of the role')),
      )
    } finally {
      await site.close()
    }
  }

  test('the mount warns of each format; after the statements in the warning, values and pages are right', async () => {
    const cluster = await startPostgres()
    for (const [name, value] of Object.entries(defaults)) {
      await cluster.query(`ALTER ROLE test SET ${name} = '${value}'`)
    }
    const url = await startPgbouncer(cluster, 3)
    await withSite(url, async (_, warning = '') => {
      for (const name of Object.keys(defaults)) expect(warning).toContain(name)
      await cluster.query(warning.slice(warning.indexOf('ALTER ROLE')))
    })
    await cluster.terminate()
    await withSite(url, async (site, warning) => {
      expect(warning).toBeUndefined()
      const { post } = apiOf(() => site.url)
      const values = Array.from({ length: 12 }, (_, index) => ({
        value: 1 / 3 + index * 2 ** -50,
        duration: '1 day 02:30:00',
        names: ['NULL', 'a'],
      }))
      // More requests at the same time than there are connections to the database.
      const made = await Promise.all(values.map((value) => post('measurement', value)))
      expect(made.map((reply) => reply.json())).toMatchObject(values)
      const all = idsOf(await readPages(site.url, '/api/measurement/?ordering=value&limit=100&after='))
      expect(all).toHaveLength(values.length)
      const seen = await Promise.all(
        values.map(() => readPages(site.url, '/api/measurement/?ordering=value&limit=1&after=')),
      )
      for (const pages of seen) expect(idsOf(pages)).toEqual(all)
    })
  }, 60_000)
})
