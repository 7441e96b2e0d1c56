/**
 * Measures costs that must not grow: the start with many entities, how long a long list blocks the event loop, and memory after many
 * shapes of requests. `npm run bench:costs`.
 */
import 'reflect-metadata'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import Koa from 'koa'
import { DataSource } from 'typeorm'
import { anonymous, mountResources } from 'typeorm-resources'
import { fill, optionsFor, seedFile } from './database'
import { Note, User } from './model'
import { otherEntities } from './other-entities'

const database = join(__dirname, '..', 'data', seedFile)

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return Math.round(performance.now() - start)
}

async function main(): Promise<void> {
  await fill(database)
  const others = otherEntities(298)
  const dataSource = new DataSource({ ...optionsFor(database), entities: [User, Note, ...others] })
  const app = new Koa()
  const initialize = await timed(() => dataSource.initialize())
  const resources = others.map((entity) => ({ entity }))
  const mount = await timed(() => mountResources(app, dataSource, { defaultAuth: () => anonymous, resources }))
  for (const count of [50, 100, 200, 298]) {
    const prefix = `/of${count}`
    mountResources(app, dataSource, { prefix, defaultAuth: () => anonymous, resources: resources.slice(0, count) })
  }
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const get = async (path: string): Promise<void> => {
    const response = await fetch(`${origin}${path}`)
    await response.text()
    if (!response.ok) throw new Error(`${path}: status ${response.status}`)
  }

  const descriptions: string[] = []
  // The first one is not printed: the compiler has not optimized the code yet.
  for (const count of [50, 50, 100, 200, 298]) {
    const first = await timed(() => get(`/of${count}/openapi.json`))
    const second = await timed(() => get(`/of${count}/openapi.json`))
    descriptions.push(`${count + 2} entities ${first} ms, second request ${second} ms`)
  }

  await get('/api/note/?limit=1000')
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  for (let page = 1; page <= 50; page++) await get(`/api/note/?limit=1000&page=${page}`)
  delay.disable()

  const memory: number[] = []
  for (let shape = 0; shape < 10_000; shape++) {
    const members = Array.from({ length: 1 + (shape % 100) }, (_, index) => index).join(',')
    const fields = ['id', 'score', 'author_id', 'title', 'published', 'created']
    const order = fields.filter((_, index) => Math.floor(shape / 100) & (1 << index)).join(',')
    await get(`/api/note/?limit=1&id__in=${members}${order === '' ? '' : `&ordering=${order}`}&score__gte=${shape}`)
    if (shape % 1000 === 999) {
      globalThis.gc?.()
      memory.push(Math.round(process.memoryUsage().heapUsed / 2 ** 20))
    }
  }
  console.log(`300 entities: TypeORM's initialize ${initialize} ms, mountResources ${mount} ms`)
  console.log(`openapi.json: ${descriptions.slice(1).join('; ')}`)
  console.log(
    `limit=1000: the event loop is blocked for at most ${(delay.max / 1e6).toFixed(1)} ms; the client is in the same process`,
  )
  console.log(`10,000 shapes: heap in MiB after each thousand: ${memory.join(' ')}`)
  server.close()
  await dataSource.destroy()
}

main()
