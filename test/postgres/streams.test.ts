import { Column, DataSource, type DataSourceOptions, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { mountResources, Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { openPaused } from '../support/paused-client'
import { until } from '../support/stream-world'
import { openWorld } from '../world/world'

/** Streamed lists with row level security and replicas. */

@Entity()
@Resource({
  auth: ({ context }) => ({ id: Number(context.get('x-company')) }),
  formats: true,
})
class Memo {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') company!: number
}

@Entity()
@Resource({ auth: permitAll, formats: true })
class Long {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 2000 }) text!: string
}

test('row level security applies to all rows of a stream', async () => {
  let restricted: DataSource | undefined
  const world = await openWorld({
    entities: [Memo],
    seed: async (owner) => {
      const memos = Array.from({ length: 3000 }, (_, index) => ({ company: index % 3 }))
      await insertRows(owner, Memo, memos)
      const [{ schema }] = await owner.query('SELECT current_schema() AS schema')
      await owner.query(`GRANT USAGE ON SCHEMA "${schema}" TO pg_monitor; GRANT SELECT ON memo TO pg_monitor;
        ALTER TABLE memo ENABLE ROW LEVEL SECURITY;
        CREATE POLICY own ON memo USING (company = current_setting('app.company')::int)`)
      const { extra, ...options } = owner.options as { extra: { options: string } } & DataSourceOptions
      const limited = { ...options, extra: { options: `${extra.options} -c role=pg_monitor` }, synchronize: false }
      restricted = await new DataSource(limited as DataSourceOptions).initialize()
    },
    mountOn: (app) =>
      mountResources(app, restricted as DataSource, { databaseSettings: ({ id }) => ({ 'app.company': Number(id) }) }),
  })
  for (const company of [0, 1, 2]) {
    const headers = { 'x-company': String(company) }
    const { text } = await send(world.url, 'GET /api/memo/?format=ndjson', { headers })
    const companies = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).company)
    expect([companies.length, new Set(companies)]).toEqual([1000, new Set([company])])
  }
  await restricted?.destroy()
  await world.close()
})

test('a stream reads from a replica', async () => {
  const url = process.env['TEST_POSTGRES_RUN_URL'] ?? ''
  const applicationName = `replica_${process.pid}`
  const world = await openWorld({
    entities: [Long],
    source: { replication: { master: { url }, slaves: [{ url, applicationName }] } } as object,
    seed: async (dataSource) => {
      await insertRows(dataSource, Long, [{ text: 'x'.repeat(2000) }])
      for (let count = 1; count < 16_384; count *= 2)
        await dataSource.query('INSERT INTO long (text) SELECT text FROM long')
    },
  })
  const socket = await openPaused(world.url, 'GET /api/long/?format=csv HTTP/1.1\r\nHost: x\r\n\r\n')
  const count = 'SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = $1 AND state LIKE $2'
  const countOf = async (): Promise<number> =>
    (await world.dataSource.query(count, [applicationName, 'idle in transaction']))[0].count
  await until(async () => (await countOf()) === 1, 5000)
  socket.destroy()
  await until(async () => (await countOf()) === 0, 5000)
  await world.close()
})
