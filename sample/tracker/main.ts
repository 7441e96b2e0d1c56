import 'reflect-metadata'
import { createServer } from 'node:http'
import { join } from 'node:path'
import Koa from 'koa'
import { DataSource } from 'typeorm'
import { closeGracefully, mountResources } from 'typeorm-resources'
import { staticFiles } from '../static-files'
import { login } from './login'
import { trackerOptions } from './options'
import { people, seedTracker, trackerEntities } from './seed'

const port = Number(process.env['PORT'] || 3000)
const url = `http://127.0.0.1:${port}`

async function main(): Promise<void> {
  const dataSource = new DataSource({
    type: 'better-sqlite3',
    database: ':memory:',
    entities: trackerEntities,
    synchronize: true,
  })
  await dataSource.initialize()
  const key = await seedTracker(dataSource)
  const app = new Koa()
  app.use(staticFiles('/', join(__dirname, 'page'), 'sample:tracker'))
  app.use(login(dataSource))
  const { resources } = mountResources(app, dataSource, trackerOptions)
  const server = createServer(app.callback())
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void closeGracefully(server, dataSource))
  console.log(`A project tracker: ${url}/, its resources: ${url}/api/`)
  console.log(`Users, whose passwords are their names: ${people.join(', ')}`)
  console.log(`A key of bob, which reads projects, and reads and creates entries: ${key}`)
  console.log(`Tokens: POST ${url}/login with a name and a password`)
  for (const { path, scope } of resources) console.log(`  ${url}${path}  (${scope})`)
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
