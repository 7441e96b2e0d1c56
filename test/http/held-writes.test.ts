import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { BeforeUpdate, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { anonymous, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'

const open = () => anonymous
const MiB = 1024 * 1024

abstract class Text {
  @PrimaryGeneratedColumn() id!: number
  @Column('int', { default: 0 }) rank!: number
  @Column(isMariadb ? 'longtext' : 'text') body!: string
}

/** Updated by one statement, where the database returns what it has written. */
@Entity()
@Resource({ auth: open })
class Story extends Text {}

/** Read before it is updated. */
@Entity()
@Resource({ auth: open })
class Heard extends Text {
  @BeforeUpdate() hear(): void {}
}

const long = 'z'.repeat(15 * MiB)
const part = 'p'.repeat(900 * 1024)

let world: World | undefined
const sockets: Socket[] = []
/** Tells when requests arrive, and when their responses are handed to their connections. */
const requests = new EventEmitter()
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await world?.close()
  world = undefined
})

/** A client that sends, and does not read before it is resumed. */
async function silent(url: string, text: string, happened: 'arrived' | 'answered'): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).pause()
  sockets.push(socket)
  socket.on('error', () => undefined)
  await Promise.all([once(requests, happened), once(socket, 'connect').then(() => socket.write(text))])
  return socket
}

/** Records 1 are long, records 2 short. */
async function openWith(responseBytes: number): Promise<World> {
  world = await openWorld({
    entities: [Story, Heard],
    mount: { limits: { responseBytes } },
    before: (app) => {
      app.use(async (_, next) => {
        requests.emit('arrived')
        await next()
        requests.emit('answered')
      })
    },
  })
  for (const entity of [Story, Heard])
    await world.dataSource.getRepository(entity).insert([{ body: long }, { body: 'short' }])
  return world
}

const getLong = 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n'

/** A response of 15 MiB is in memory, and there is room for 512 KiB more. */
async function openHeld(): Promise<World> {
  const opened = await openWith(15 * MiB + 512 * 1024)
  await silent(opened.url, getLong, 'answered')
  return opened
}

/** Asks until the memory of a connection that was closed is counted no more. */
async function statusWhenFree(ask: () => Promise<Reply>): Promise<number> {
  for (const end = Date.now() + 10_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const { status } = await ask()
    if (status !== 503 || Date.now() > end) return status
  }
}

const rowsOf = async ({ sql }: World, table: string): Promise<unknown> =>
  (await sql(`SELECT "id", "rank", "body" FROM "${table}" ORDER BY "id"`)).map(({ body, ...row }) => ({
    ...row,
    body: String(body).length,
  }))

const writes = ['story', 'heard'].flatMap((table) => [
  { table, what: 'an update of a long record', line: `PUT /api/${table}/1/`, body: { rank: 5 } },
  { table, what: 'an update that shortens a long record', line: `PATCH /api/${table}/1/`, body: { body: 'x' } },
  { table, what: 'an update that changes nothing of a long record', line: `PUT /api/${table}/1/`, body: {} },
  { table, what: 'an update that makes a record long', line: `PUT /api/${table}/2/`, body: { body: part } },
  { table, what: 'a long record that is created', line: `POST /api/${table}/`, body: { body: part } },
])

test.each(writes)('$what of $table is 503, and nothing is written, where its response has no room', async (write) => {
  const { line, body, table } = write
  const opened = await openHeld()
  const before = await rowsOf(opened, table)
  const refused = await send(opened.url, line, { body })
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
  expect(await rowsOf(opened, table)).toEqual(before)
  for (const socket of sockets.splice(0)) socket.destroy()
  expect(await statusWhenFree(() => send(opened.url, line, { body }))).toBe(line.startsWith('POST') ? 201 : 200)
})

test.each(['story', 'heard'])('short records of %s are written as long as there is room for them', async (table) => {
  const { url } = await openHeld()
  expect((await send(url, `PUT /api/${table}/2/`, { body: { rank: 5 } })).json()).toMatchObject({ id: 2, rank: 5 })
  expect((await send(url, `POST /api/${table}/`, { body: { body: 'new' } })).status).toBe(201)
  expect((await send(url, `DELETE /api/${table}/2/`)).status).toBe(204)
})

test.each(['story', 'heard'])('a body that ends later is refused by what is in memory then: %s', async (table) => {
  const opened = await openWith(MiB)
  const body = '{"rank":5}'
  const head = `PUT /api/${table}/1/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n`
  const writer = await silent(opened.url, `${head}Content-Length: ${body.length}\r\n\r\n{`, 'arrived')
  await silent(opened.url, getLong, 'answered')
  const before = await rowsOf(opened, table)
  let text = ''
  writer.setEncoding('utf8').on('data', (read: string) => {
    text += read
  })
  writer.resume().write(body.slice(1))
  await once(writer, 'end')
  expect(text).toMatch(/^HTTP\/1\.1 503 /)
  expect(await rowsOf(opened, table)).toEqual(before)
})
