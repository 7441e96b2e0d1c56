import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type ColumnType, EntitySchema } from 'typeorm'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { createDataSource } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Instants as they are sent, and as they are shown. */
const instants = [
  ['2024-02-29 10:20:30.987654Z', '2024-02-29 10:20:30'],
  ['2024-07-01T12:00:00+02:00', '2024-07-01 10:00:00'],
  ['1900-01-01 00:00:00', '1900-01-01 00:00:00'],
  ['0099-12-31 23:59:59', '0099-12-31 23:59:59'],
  ['9999-12-30 23:59:59.5', '9999-12-30 23:59:59'],
] as const

const run = promisify(execFile)

// If both the site and the server use UTC, instants are read as text.
test.each([
  ['UTC', 'UTC'],
  ['UTC', 'Asia/Kolkata'],
  ['Asia/Kolkata', 'UTC'],
  ['Europe/London', 'UTC'],
  ['America/St_Johns', 'America/St_Johns'],
])(
  'Date-times: a site in %s, its server in %s: instants are shown in UTC, found and read',
  async (zone, serverZone) => {
    const { options } = await createDataSource({ entities: [] })
    const { url, schema, extra } = options as { url: string; schema: string; extra: { options: string } }
    const zoned = { ...extra, options: `${extra.options} -c timezone=${serverZone}` }
    const argument = {
      options: { type: 'postgres', url, schema, extra: zoned },
      instants: instants.map(([sent]) => sent),
    }
    const { stdout } = await run(process.execPath, [join(__dirname, 'zone-site.js'), JSON.stringify(argument)], {
      env: { ...process.env, TZ: zone },
    })
    const { created, objects, found, entities } = JSON.parse(stdout)
    const expected = instants.map(([, shown], index) => ({
      id: index + 1,
      local: shown,
      zoned: shown,
      transformed: shown,
    }))
    expect({ created, objects, found }).toEqual({ created: expected, objects: expected, found: expected })
    const stored = entities.map(({ local }: { local: string }) => local.slice(0, 19).replace('T', ' '))
    expect(stored).toEqual(instants.map(([, shown]) => shown))
  },
)

const momentOf = (type: ColumnType) =>
  new EntitySchema<{ id: number; at: Date }>({
    name: 'moment',
    columns: { id: { type: Number, primary: true, generated: true }, at: { type } },
  })

describe.each([
  ['timestamp', 1114, (text: string) => new Date(`${text.replace(' ', 'T')}+01:00`), '2024-02-29 09:20:30'],
  ['timestamptz', 1184, (text: string) => `${text.replace(' ', 'T')}:00`, '2024-02-29 10:20:30'],
  ['timestamp', 1114, (text: string) => `${text.replace(' ', 'T')}Z`, '2024-02-29 10:20:30'],
] as const)('an application with its own parser for %s', (type, id, parse, shown) => {
  let world: World
  let restore: () => void
  beforeAll(async () => {
    world = await openWorld({
      entities: [momentOf(type)],
      mount: { resources: [{ entity: 'moment', auth: permitAll }] },
      seed: async ({ driver }) => {
        const { types } = Object(driver).postgres
        const own = types.getTypeParser(id)
        restore = () => types.setTypeParser(id, own)
        types.setTypeParser(id, parse)
      },
    })
  })
  afterAll(async () => {
    restore()
    await world.close()
  })

  test('instants are shown as the parser returns them', async () => {
    const { post, get } = apiOf(() => world.url)
    const expected = { id: 1, at: shown }
    expect((await post('moment', { at: '2024-02-29 10:20:30' })).json()).toEqual(expected)
    expect((await get('moment/')).json()).toMatchObject({ objects: [expected] })
    expect((await get('moment/1')).json()).toEqual(expected)
  })

  test('a result of the parser that is not an instant of four digits is shown in one way, with one ETag', async () => {
    const { get } = apiOf(() => world.url)
    for (const stored of ['infinity', '12345-01-01', '0044-03-15 BC']) {
      const [row] = await world.sql(`INSERT INTO "moment" ("at") VALUES ('${stored}') RETURNING "id"`)
      const item = await get(`moment/${row?.['id']}`)
      expect((await get(`moment/?id=${row?.['id']}`)).json()).toMatchObject({ objects: [item.json()] })
      const headers = { 'If-Match': String(item.headers['etag']) }
      const body = { at: '2024-02-29 10:20:30' }
      expect((await send(world.url, `PUT /api/moment/${row?.['id']}/`, { headers, body })).status).toBe(200)
    }
  })

  test('a parser that is set later is used on every connection', async () => {
    const { get } = apiOf(() => world.url)
    const { types } = Object(world.dataSource.driver).postgres
    types.setTypeParser(id, () => new Date(0))
    const replies = await Promise.all(Array.from({ length: 6 }, () => get('moment/1')))
    types.setTypeParser(id, parse)
    expect(replies.map((reply) => reply.json())).toEqual(replies.map(() => ({ id: 1, at: '1970-01-01 00:00:00' })))
  })
})

test('a connection that was opened before the mount uses prepared statements too', async () => {
  const world = await openWorld({
    entities: [momentOf('timestamp')],
    mount: { resources: [{ entity: 'moment', auth: permitAll }] },
    // All requests use this connection, also while the mount reads the settings of the database.
    source: { poolSize: 1 } as object,
  })
  try {
    await apiOf(() => world.url).get('moment/')
    expect(await world.sql('SELECT statement FROM pg_prepared_statements')).toMatchObject([
      { statement: expect.stringContaining('typeorm-resources') },
    ])
  } finally {
    await world.close()
  }
})

describe('arrays of date-times', () => {
  const Shift = new EntitySchema<{ id: number; zoned: Date[]; local: Date[] }>({
    name: 'shift',
    columns: {
      id: { type: Number, primary: true, generated: true },
      zoned: { type: 'timestamptz', array: true },
      local: { type: 'timestamp', array: true },
    },
  })
  const timesWith = (fraction: string): readonly string[] => ['2024-01-01 00:00:00', `2024-02-01 10:20:30.${fraction}`]
  let world: World
  beforeAll(async () => {
    world = await openWorld({ entities: [Shift], mount: { resources: [{ entity: 'shift', auth: permitAll }] } })
  })
  afterAll(() => world.close())

  test.each(['zoned', 'local'])('%s: a PUT stores fractions of a second, and they change the ETag', async (name) => {
    const both = { zoned: timesWith('5'), local: timesWith('5') }
    const created = await send(world.url, 'POST /api/shift/', { body: both })
    const { id } = created.json() as { id: number }
    const put = await send(world.url, `PUT /api/shift/${id}/`, { body: { ...both, [name]: timesWith('25') } })
    expect(put.status).toBe(200)
    expect(put.json()).toEqual(created.json())
    const sql = `SELECT zoned::text AS zoned, "local"::text AS "local" FROM shift WHERE id = ${id}`
    const [stored] = await world.sql(sql)
    expect(Object(stored)[name]).toContain('10:20:30.25')
    const headers = { 'If-Match': String(created.headers['etag']) }
    expect((await send(world.url, `PUT /api/shift/${id}/`, { body: both, headers })).status).toBe(412)
  })
})
