import { rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import Koa from 'koa'
import { DataSource } from 'typeorm'
import { type Mounted, mountResources } from 'typeorm-resources'
import { Country, entities } from './entities'
import { accounts, importPlaces } from './import'
import { tour } from './tour'

const port = Number(process.env['PORT'] ?? 3000)
const database = process.env['DATABASE'] ?? join(__dirname, '..', 'data', 'world.sqlite')

async function main(): Promise<void> {
  if (process.argv.includes('--reset')) for (const end of ['', '-wal', '-shm']) rmSync(database + end, { force: true })
  const dataSource = await openDatabase()
  const app = new Koa()
  const mounted = mountResources(app, dataSource)
  const server = createServer(app.callback())
  await listen(server)
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
  }).initialize()
  if ((await dataSource.getRepository(Country).count()) === 0) {
    const start = performance.now()
    const cities = await dataSource.transaction(importPlaces)
    console.log(`Imported ${cities} cities into ${database} in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  }
  return dataSource
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
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
  const url = `http://127.0.0.1:${port}`
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

main().catch((error: NodeJS.ErrnoException) => {
  const isTaken = error.code === 'EADDRINUSE'
  console.error(isTaken ? `Port ${port} is taken: choose another, as in PORT=${port + 1} npm run sample` : error)
  process.exitCode = 1
})
