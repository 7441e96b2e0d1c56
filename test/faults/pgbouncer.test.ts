import { EntitySchema } from 'typeorm'
import { userRule } from 'typeorm-resources'
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
  })

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

describe('PgBouncer in transaction pooling mode, with a role that has other defaults', () => {
  const formats = { DateStyle: 'German', IntervalStyle: 'iso_8601', extra_float_digits: '0', array_nulls: 'off' }
  const defaults = { ...formats, session_replication_role: 'replica' }

  /** Opens a site, and passes it to `work` with the warning about the defaults that the mount has logged. */
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

  test('the mount warns of each default; after the statements in the warning, values and pages are right', async () => {
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
  })
})

describe('PgBouncer in transaction pooling mode, with policies of row level security', () => {
  let site: Site
  beforeAll(async () => {
    const cluster = await startPostgres([])
    const owner = await openSite({ source: cluster.source })
    await owner.dataSource
      .getRepository(Account)
      .insert(['ann', 'bob'].map((name) => ({ username: name, password: name })))
    const own = `"ownerId" = NULLIF(current_setting('app.user_id', true), '')::int`
    for (const table of ['page', 'sheet']) {
      await cluster.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`)
      await cluster.query(`CREATE POLICY own ON ${table} USING (${own}) WITH CHECK (${own} AND title <> 'forbidden')`)
    }
    for (const objects of ['TABLES', 'SEQUENCES'])
      await cluster.query(`GRANT ALL ON ALL ${objects} IN SCHEMA public TO pg_monitor`)
    // The role of all later connections; policies do not apply to superusers.
    await cluster.query('ALTER DATABASE postgres SET role = pg_monitor')
    await owner.close()
    const url = await startPgbouncer(cluster, 3)
    site = await openSite({
      source: { type: 'postgres', url, extra: { max: 20 }, synchronize: false },
      mount: {
        statementTimeout: 0,
        defaultAuth: userRule(),
        databaseSettings: ({ id }) => ({ 'app.user_id': String(id) }),
      },
    })
    atEnd(site.close)
  })

  test('all users see and write their own records only', async () => {
    const titlesOf = async (as: string, path: string): Promise<readonly string[]> => {
      const reply = await send(site.url, `GET ${path}`, { as })
      return (reply.json() as { objects: { title: string }[] }).objects.map(({ title }) => title)
    }
    const visit = async (as: string, round: number, name: string): Promise<void> => {
      const title = `${as} ${round}`
      const post = async (body: object) => (await send(site.url, `POST /api/${name}/`, { as, body })).status
      expect([await post({ title }), await post({ title: 'forbidden' })]).toEqual([201, 403])
      expect(await titlesOf(as, `/api/${name}/?title=${as}%20${round}`)).toEqual([title])
      const titles = await titlesOf(as, `/api/${name}/?limit=100`)
      expect(titles.filter((one) => !one.startsWith(as))).toEqual([])
    }
    const visits = Array.from({ length: 20 }, (_, round) =>
      ['ann', 'bob'].flatMap((as) => ['page', 'sheet'].map((name) => visit(as, round, name))),
    )
    await Promise.all(visits.flat())
    for (const as of ['ann', 'bob']) {
      for (const name of ['page', 'sheet']) {
        expect(await titlesOf(as, `/api/${name}/?limit=100`)).toHaveLength(20)
        // A statement without bind values.
        const counted = (await send(site.url, `GET /api/${name}/?limit=0&count=exact`, { as })).json()
        expect(counted).toMatchObject({ meta: { total: 20 } })
      }
    }
    expect(site.faults).toEqual([])
  })
})
