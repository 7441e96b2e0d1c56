import { createServer, type Server } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { closeGracefully, Resource } from 'typeorm-resources'
import { send } from '../client'
import { listen } from '../support/listen'
import { openPaused } from '../support/paused-client'
import { openStreamWorld, readingCount } from '../support/stream-world'
import { entities } from '../world/entities'
import { openWorld, seedWorld, type World } from '../world/world'

/** Streamed lists and the rest of a site: access rules, and the shutdown of the server. */

@Entity()
@Resource({
  auth: async ({ authenticate }) => {
    const principal = await authenticate()
    return principal?.id === 2 ? null : principal
  },
  formats: true,
})
class Report {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') size!: number
}

describe('a request that is refused gets a problem before the first byte', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({ entities: [...entities, Report], seed: seedWorld, mount: { forbidden: 403 } })
  })
  afterAll(() => world.close())

  test.each([
    ['nobody', undefined, 401],
    ['a wrong user', 'nobody', 401],
    ['a user whom the rule refuses', 'bob', 403],
    ['a user whom the rule permits', 'ann', 200],
  ])('%s', async (_, as, status) => {
    for (const format of ['csv', 'ndjson']) {
      const reply = await send(world.url, `GET /api/report/?format=${format}`, { as })
      const [type] = (reply.headers['content-type'] ?? '').split(';')
      const streamed = format === 'csv' ? 'text/csv' : 'application/x-ndjson'
      const types: Readonly<Record<number, string>> = { 200: streamed, 403: 'application/problem+json' }
      expect([reply.status, status === 401 || type === types[status]]).toEqual([status, true])
      expect(reply.headers['content-disposition'] === undefined).toBe(status !== 200)
    }
  })
})

describe('closeGracefully', () => {
  const open = async (): Promise<{
    world: Awaited<ReturnType<typeof openStreamWorld>>
    server: Server
    url: string
  }> => {
    const world = await openStreamWorld()
    const server = createServer(world.app.callback())
    return { world, server, url: await listen(server) }
  }
  const text = 'GET /api/reading/?format=ndjson HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

  test('waits for a streamed list', async () => {
    const { world, server, url } = await open()
    const socket = await openPaused(url, text)
    await setTimeout(200)
    const closing = closeGracefully(server, world.dataSource)
    await setTimeout(200)
    let records = 0
    for await (const chunk of socket) for (const byte of chunk as Buffer) if (byte === 0x7d) records += 1
    expect([records, await closing]).toEqual([readingCount, true])
    await world.dataSource.initialize()
    await world.close()
  })

  test('cuts off a streamed list whose client reads nothing', async () => {
    const { world, server, url } = await open()
    const socket = await openPaused(url, text)
    await setTimeout(200)
    const start = performance.now()
    expect(await closeGracefully(server, world.dataSource, { timeout: 500 })).toBe(false)
    expect(performance.now() - start).toBeLessThan(2500)
    expect(world.dataSource.isInitialized).toBe(false)
    expect(world.faults).toEqual([])
    socket.destroy()
    await world.dataSource.initialize()
    await world.close()
  })
})
