import { inspect } from 'node:util'
import { basic, send } from '../client'
import { openWorld, type World } from '../world/world'

let world: World
beforeAll(async () => {
  world = await openWorld()
  await world.sql('DROP TABLE "language_word"')
})
afterAll(() => world.close())

test.each(['GET /api/word/', 'GET /api/word/01890a5d-ac96-774b-bcce-b302099a8057/', 'HEAD /api/word/'])(
  'Error documents: %s: a fault is reported to the application and not to the client',
  async (request) => {
    const before = world.faults.length
    const reply = await send(world.url, request)
    expect(reply.status).toBe(500)
    expect(reply.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    if (!request.startsWith('HEAD')) {
      expect(reply.json()).toEqual({
        type: 'urn:typeorm-resources:internal-error',
        title: 'Internal server error',
        status: 500,
        detail: 'the server could not answer this request',
      })
    }
    const fault = expect.objectContaining({ message: expect.stringContaining('language_word') })
    expect(world.faults.slice(before)).toEqual([fault])
  },
)

test("a client that disconnects in the middle of its body causes no other error than Koa's", async () => {
  const before = world.faults.length
  for (let round = 0; round < 50; round++) await abort(world.url)
  expect((await send(world.url, 'GET /api/note/1/')).status).toBe(200)
  // Koa itself emits an error for a broken connection; the service must not emit another one.
  const ownFaults = world.faults
    .slice(before)
    .filter((fault) => (fault as { headerSent?: boolean }).headerSent !== true)
  expect(ownFaults).toEqual([])
})

test('after a body that is too large the connection can be reused', async () => {
  const { request, Agent } = await import('node:http')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const statusOf = (method: string, path: string, chunks: readonly Buffer[]): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { Authorization: basic('bob'), 'Content-Type': 'application/json' }
      const outgoing = request(`${world.url}${path}`, { agent, method, headers }, (incoming) => {
        incoming.resume().on('end', () => resolve(incoming.statusCode ?? 0))
      }).on('error', reject)
      for (const chunk of chunks) outgoing.write(chunk)
      outgoing.end()
    })
  const large = Array.from({ length: 48 }, () => Buffer.alloc(65_536, ' '))
  expect(await statusOf('POST', '/api/note/', large)).toBe(413)
  expect(await statusOf('GET', '/api/note/1/', [])).toBe(200)
  agent.destroy()
})

test('the error of a failed statement is reported to the application without its parameters', async () => {
  await world.sql('ALTER TABLE "note" DROP COLUMN "weight"')
  const before = world.faults.length
  const body = { title: 'x', author_id: 2, secret: 'canary-0a1b' }
  expect((await send(world.url, 'POST /api/note/', { as: 'bob', body })).status).toBe(500)
  const [fault] = world.faults.slice(before)
  const description = `${(fault as Error).message} ${inspect(fault, { depth: 8 })}`
  expect(description).toContain('weight')
  expect(description).not.toContain('canary')
})

async function abort(url: string): Promise<void> {
  const { connect } = await import('node:net')
  const { port } = new URL(url)
  await new Promise<void>((resolve) => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      const login = Buffer.from('bob:bob').toString('base64')
      socket.write(`POST /api/note/ HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${login}\r\n`)
      socket.write('Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"title":')
      setTimeout(() => socket.destroy(), 1)
    })
    socket.on('close', () => resolve())
  })
}
