import { createServer, type RequestListener, type Server } from 'node:http'
import { join } from 'node:path'
import Koa from 'koa'
import type { DataSource } from 'typeorm'
import { closeGracefully, type Mounted, mountResources } from 'typeorm-resources'
import { openDatabase } from './database'
import { accounts } from './import'
import { staticFiles } from './static-files'
import { tour } from './tour'
import { UserError } from './user-error'

const port = Number(process.env['PORT'] || 3000)
const url = `http://127.0.0.1:${port}`
const options = ['--reset', '--admin']
const adminFolder = join(__dirname, '..', 'admin', 'dist')

async function main(): Promise<void> {
  const [option] = process.argv.slice(2).filter((argument) => !options.includes(argument))
  if (option !== undefined) throw new UserError(`${option} is no option; options: ${options.join(', ')}`)
  const admin = process.argv.includes('--admin') ? staticFiles('/admin/', adminFolder, 'sample:admin') : undefined
  // The port first: nobody's running sample loses its database to another's --reset.
  let answer: RequestListener = (_request, response) => response.writeHead(503, { 'Retry-After': '5' }).end()
  const server = createServer((request, response) => answer(request, response))
  await listen(server)
  const dataSource = await openDatabase(process.argv.includes('--reset'))
  const app = new Koa()
  if (admin) app.use(admin)
  app.use((context, next) => (context.path === '/' ? context.redirect('/api/') : next()))
  const mounted = mountResources(app, dataSource, { batch: true, live: true, info: { title: 'Places of the world' } })
  answer = app.callback()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(server, dataSource))
  print(mounted)
  if (admin) console.log(`\nreact-admin over it: ${url}/admin/, Refine: ${url}/admin/refine.html`)
  console.log('\nCtrl-C stops the server.')
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
  await closeGracefully(server, dataSource)
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
  console.log(`\nPages\n  ${url}/api/ explorer: shows and changes records\n  ${url}/api/docs/ OpenAPI document`)
  console.log('\nTry')
  for (const { title, curl, answer } of tour(url)) console.log(`  # ${title}: ${answer}\n  ${curl}`)
}

main().catch((error: unknown) => {
  console.error(error instanceof UserError ? error.message : error)
  process.exit(1)
})
