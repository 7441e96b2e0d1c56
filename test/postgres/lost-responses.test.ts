import { connect, createServer, type Server, type Socket } from 'node:net'
import { listen } from '../support/listen'
import { openLiveWorld } from '../support/live-world'

/** A write whose result is lost, because the connection to the database ends after the commit (specification: Live lists). */

/** A proxy in front of the database, which can end the connection of the next INSERT instead of passing its result on. */
class LossyProxy {
  losesInsert = false
  readonly #sockets = new Set<Socket>()
  readonly #server: Server

  constructor(target: URL) {
    this.#server = createServer((client) => this.#pass(client, connect(Number(target.port), target.hostname)))
  }

  async start(): Promise<string> {
    return new URL(await listen(this.#server as never)).host
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  #pass(client: Socket, database: Socket): void {
    const end = (): void => {
      client.destroy()
      database.destroy()
    }
    for (const socket of [client, database]) {
      this.#sockets.add(socket)
      socket.on('error', end).on('close', end)
    }
    client.on('data', (chunk) => database.write(chunk))
    database.on('data', (chunk) => {
      // The tag of a finished command. A statement outside of a transaction is committed then.
      if (this.losesInsert && chunk.includes('INSERT 0 1')) end()
      else client.write(chunk)
    })
  }
}

const url = process.env['TEST_POSTGRES_RUN_URL'] ?? ''
const proxy = new LossyProxy(new URL(url))
afterAll(() => {
  proxy.stop()
  process.env['TEST_POSTGRES_RUN_URL'] = url
})

test('subscribers receive a record whose response was lost', async () => {
  const proxied = new URL(url)
  proxied.host = await proxy.start()
  process.env['TEST_POSTGRES_RUN_URL'] = proxied.href
  const world = await openLiveWorld()
  const reader = await world.watch('country/')
  expect(await reader.take(1)).toEqual([['reset', []]])
  proxy.losesInsert = true
  expect((await world.request('POST country/', { code: 'FR', name: 'France' })).status).toBe(503)
  proxy.losesInsert = false
  const [event] = await reader.take(1)
  expect([event?.[1]].flat()).toEqual([{ id: 'FR', code: 'FR', name: 'France' }])
  await world.close()
})
