import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import Koa from 'koa'
import { DataSource, type DataSourceOptions, EntitySchema } from 'typeorm'
import { mountResources } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { listen } from '../support/listen'
import { recorder } from '../world/leg'

const Word = new EntitySchema<{ id: number; plain: string; collated: string }>({
  name: 'word',
  columns: {
    id: { type: Number, primary: true, generated: true },
    plain: { type: 'varchar' },
    collated: { type: 'varchar', collation: 'und-x-icu' },
  },
})

test.each([
  ['C', ['a'], true],
  ['C.UTF-8', ['a', 'é'], false],
] as const)('in a database of collation %s, ilike ignores the case of %j', async (collation, found, isWarned) => {
  const server = new URL(process.env['TEST_POSTGRES_URL'] ?? '')
  const name = `${process.env['TEST_RUN']}_${randomBytes(4).toString('hex')}`
  const admin = await new DataSource({ type: 'postgres', url: server.href }).initialize()
  await admin.query(
    `CREATE DATABASE "${name}" TEMPLATE template0 LC_COLLATE '${collation}' LC_CTYPE '${collation}' ENCODING 'UTF8'`,
  )
  server.pathname = `/${name}`
  const lines: string[] = []
  const logger = recorder(
    () => {},
    (line) => lines.push(line),
  )
  const options: DataSourceOptions = { type: 'postgres', url: server.href, entities: [Word], synchronize: true, logger }
  const dataSource = await new DataSource(options).initialize()
  const app = new Koa()
  mountResources(app, dataSource, { resources: [{ entity: Word, auth: permitAll }] })
  const site = createServer(app.callback())
  const url = await listen(site)
  try {
    const { get, post } = apiOf(() => url)
    for (const letter of ['a', 'é']) await post('word', { plain: letter, collated: letter })
    for (const [field, expected] of [
      ['plain', found],
      ['collated', ['a', 'é']],
    ] as const) {
      const seen: string[] = []
      for (const letter of ['A', 'É']) {
        const reply = (await get(`word?${field}__ilike=${encodeURIComponent(letter)}`)).json() as {
          objects: { plain: string }[]
        }
        seen.push(...reply.objects.map(({ plain }) => plain))
      }
      expect([field, seen]).toEqual([field, expected])
    }
    expect(lines.some((line) => line.includes('collation is C: ilike'))).toBe(isWarned)
  } finally {
    site.close()
    await dataSource.destroy()
    await admin.query(`DROP DATABASE "${name}"`)
    await admin.destroy()
  }
})
