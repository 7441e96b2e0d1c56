import 'reflect-metadata'
import { createServer } from 'node:http'
import { join } from 'node:path'
import Koa from 'koa'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { closeGracefully, IdempotencyKey, mountResources } from 'typeorm-resources'
import { staticFiles } from '../static-files'
import { addActions } from './actions'
import { login } from './login'
import { trackerOptions } from './options'
import { Person } from './people'
import { people, seedTracker, trackerEntities } from './seed'

const port = Number(process.env['PORT'] || 3000)
const url = `http://127.0.0.1:${port}`

const databaseUrl = process.env['DATABASE_URL']

/** Options for PostgreSQL, so that several processes can serve the same data, or for a database in memory. */
function databaseOptions(): DataSourceOptions {
  return databaseUrl
    ? { type: 'postgres', url: databaseUrl, synchronize: true }
    : { type: 'better-sqlite3', database: ':memory:', synchronize: true }
}

async function main(): Promise<void> {
  const dataSource = new DataSource({ ...databaseOptions(), entities: [...trackerEntities, IdempotencyKey] })
  await dataSource.initialize()
  const isEmpty = (await dataSource.getRepository(Person).count()) === 0
  const key = isEmpty ? await seedTracker(dataSource) : '(shown when the database was filled)'
  const app = new Koa()
  app.use(staticFiles('/', join(__dirname, 'page'), 'sample:tracker'))
  app.use(login(dataSource))
  const mounted = mountResources(app, dataSource, {
    ...trackerOptions,
    live: databaseUrl ? { relay: 'postgres' } : true,
  })
  addActions(mounted, dataSource)
  const server = createServer(app.callback())
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void closeGracefully(server, dataSource))
  console.log(`A project tracker: ${url}/, its resources: ${url}/api/`)
  console.log(`Users, whose passwords are their names: ${people.join(', ')}`)
  console.log(`An API key of bob, which can read projects, and read and create entries: ${key}`)
  console.log(`Tokens: POST ${url}/login with a name and a password`)
  for (const { path, scope } of mounted.resources) console.log(`  ${url}${path}  (${scope})`)
  console.log(`\nTry
  curl -u ann:ann '${url}/api/project/'
  curl -u bob:bob '${url}/api/project/'
  curl -u dan:dan '${url}/api/task/?project__name=Atlas'
  curl -u bob:bob '${url}/api/project/' -d '{"name": "Vega", "company_id": 1}'
  curl '${url}/login' -d 'username=bob&password=bob'
  curl -H 'Authorization: ApiKey ${key}' '${url}/api/entry/'

docs/explanations/tracker.md explains who sees what. Ctrl-C stops the server.`)
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
})
