import { rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { join } from 'node:path'
import Koa from 'koa'
import { DataSource } from 'typeorm'
import { type Mounted, mountResources } from 'typeorm-resources'
import { Country, entities } from './entities'
import { accounts, importPlaces } from './import'
import { tour } from './tour'

const port = Number(process.env['PORT'] || 3000)
const database = process.env['DATABASE'] || join(__dirname, '..', 'data', 'world.sqlite')
const url = `http://127.0.0.1:${port}`

/** What the person who started the sample got wrong, in a sentence. */
class UserError extends Error {}

async function main(): Promise<void> {
  const [option] = process.argv.slice(2).filter((argument) => argument !== '--reset')
  if (option !== undefined) throw new UserError(`${option} is no option; options: --reset`)
  // The port first: nobody's running sample loses its database to another's --reset.
  let answer: RequestListener = (_request, response) => response.writeHead(503, { 'Retry-After': '5' }).end()
  const server = createServer((request, response) => answer(request, response))
  await listen(server)
  if (process.argv.includes('--reset')) for (const end of ['', '-wal', '-shm']) rmSync(database + end, { force: true })
  const dataSource = await openDatabase()
  const app = new Koa()
  const mounted = mountResources(app, dataSource)
  answer = app.callback()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(server, dataSource))
  print(mounted)
}

async function openDatabase(): Promise<DataSource> {
  const dataSource = await new DataSource({
    type: 'better-sqlite3',
    database,
    entities,
    synchronize: true,
    enableWAL: true,
    // With NORMAL, which is the default under WAL, a power cut may lose what was acknowledged.
    prepareDatabase: (connection) => void connection.pragma('synchronous = FULL'),
  })
    .initialize()
    .catch((error: Error) => {
      throw new UserError(`${database} cannot be opened as the sample's database: ${error.message}`)
    })
  if ((await dataSource.getRepository(Country).count()) === 0) {
    const start = performance.now()
    const cities = await dataSource.transaction(importPlaces)
    console.log(`Imported ${cities} cities into ${database} in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  }
  return dataSource
}

function listen(server: Server): Promise<void> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new UserError(`PORT must be a number from 1 to 65535, not "${process.env['PORT']}"`)
  }
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${error.message})`
      reject(new UserError(`Port ${port} ${why}: choose another, as in PORT=${port + 1} npm run sample`))
    })
    server.listen(port, '127.0.0.1', resolve)
  })
}

/** Lets the requests that are under way finish. */
async function stop(server: Server, dataSource: DataSource): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
  await dataSource.destroy()
  console.log('\nStopped.')
}

function print({ resources }: Mounted): void {
  console.log('\nResources')
  for (const { path, rule, owner, fields } of resources) {
    const owned = owner === undefined ? '' : `, a record belongs to its ${owner}`
    console.log(`  ${url}${path}  (${rule}${owned})\n      ${fields.join(', ')}`)
  }
  console.log(
    `\nUsers\n${accounts.map(({ username, password, admin }) => `  ${username}:${password}${admin ? ' (administrator)' : ''}`).join('\n')}`,
  )
  console.log('\nTry')
  for (const { title, curl, answer } of tour(url)) console.log(`  # ${title}: ${answer}\n  ${curl}`)
  console.log('\nCtrl-C stops the server.')
}

main().catch((error: unknown) => {
  console.error(error instanceof UserError ? error.message : error)
  process.exit(1)
})
