import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type Koa from 'koa'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { heapInUse } from '../support/heap'
import { openWorld, type World } from '../world/world'

/** Bodies in chunks of one byte (`Transfer-Encoding: chunked`), each of which Node.js returns as a `Buffer`. */

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
/** Chunks that are sent at once: those of white space, which is allowed in JSON and between the lines of an import. */
const spaces = chunk(' ').repeat(10_000)
const record = '{"title":"Draw"}'

let world: World
/** The connection of the last request, on the side of the server. */
let received: Socket | undefined

beforeAll(async () => {
  const before = (app: Koa): void =>
    void app.use((context, next) => {
      received = context.req.socket
      if (context.get('X-Encoding') !== '') context.req.setEncoding('utf8')
      return next()
    })
  world = await openWorld({ entities: [Task], before })
})
afterAll(() => world.close())

/** Sends a POST whose body has begun with white space in chunks of one byte. */
async function sendSpaces(type: string, times: number): Promise<Socket> {
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1')
  socket.write(
    `POST /api/task/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  for (let time = 0; time < times; time++) if (!socket.write(spaces)) await once(socket, 'drain')
  while (socket.bytesWritten !== received?.bytesRead) await setTimeout(10)
  return socket
}

/** Completes the body. @returns the status line of the response */
async function complete(socket: Socket): Promise<string> {
  socket.write(`${chunk(record)}${chunk('')}`)
  const [response] = await once(socket, 'data')
  socket.destroy()
  return String(response).split('\r\n')[0] ?? ''
}

const memoryInUse = (): number => heapInUse() + process.memoryUsage().arrayBuffers

test.each(['application/json', 'application/x-ndjson', 'text/csv'])(
  '%s takes little more memory than its bytes',
  async (type) => {
    const before = memoryInUse()
    const socket = await sendSpaces(type, 20)
    // Before small chunks were joined, these 200,000 took more than 20 MB.
    expect(memoryInUse() - before).toBeLessThan(5_000_000)
    socket.destroy()
  },
)

test('JSON is read as with larger chunks', async () => {
  expect(await complete(await sendSpaces('application/json', 3))).toBe('HTTP/1.1 201 Created')
})

test.each(['application/json', 'application/x-ndjson'])(
  '%s is read after setEncoding of the application',
  async (type) => {
    const headers = { 'Content-Type': type, 'X-Encoding': 'utf8' }
    const created = await send(world.url, 'POST /api/task/', { headers, body: '{"title":"Größe"}' })
    expect(created.status).toBe(201)
    expect((await send(world.url, 'GET /api/task/?ordering=-id&limit=1')).text).toContain('Größe')
  },
)

test('JSON that is not UTF-8 is refused after setEncoding of the application, which replaces the wrong bytes', async () => {
  const headers = { 'Content-Type': 'application/json', 'X-Encoding': 'utf8' }
  const body = Buffer.from('{"title":"Größe"}', 'latin1')
  expect((await send(world.url, 'POST /api/task/', { headers, body })).status).toBe(400)
})

test('other requests are handled while an import is read', async () => {
  const socket = await sendSpaces('application/x-ndjson', 40)
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 10)
  try {
    expect(await complete(socket)).toBe('HTTP/1.1 201 Created')
  } finally {
    clearInterval(timer)
  }
  // Before, searching for the end of the line again for each chunk took 10 seconds.
  expect(longest).toBeLessThan(2000)
})
