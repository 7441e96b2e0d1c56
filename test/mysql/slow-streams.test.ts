import { setTimeout } from 'node:timers/promises'
import { openStreamWorld, readingCount, type StreamWorld, until } from '../support/stream-world'

/** Streamed lists and the connection to the server. */

let world: StreamWorld
afterEach(() => world.close())

const isFree = async (): Promise<boolean> => (await world.get('reading/?format=ndjson&limit=1')).status === 200

test('a client that reads nothing for longer than net_write_timeout receives the whole list', async () => {
  world = await openStreamWorld({}, 1)
  await world.dataSource.query('SET SESSION net_write_timeout = 1')
  const socket = await world.openPaused()
  await setTimeout(4000)
  let text = ''
  let records = 0
  for await (const chunk of socket) {
    for (const byte of chunk as Buffer) if (byte === 0x7d) records += 1
    text = (text + chunk).slice(-5)
  }
  expect([records, text]).toEqual([readingCount, '0\r\n\r\n'])
})

test('a list whose connection is lost is cut off, and the next one has another connection', async () => {
  world = await openStreamWorld({ limits: { streams: 1 } })
  const socket = await world.openPaused()
  // The connection is busy as soon as its transaction has begun, before it runs this statement.
  let streaming: readonly { readonly id: number }[] = []
  const isListed = async (): Promise<boolean> => {
    streaming = await world.dataSource.query(
      "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE '%reading%' AND id <> CONNECTION_ID()",
    )
    return streaming.length === 1
  }
  await until(isListed, 10_000)
  await world.dataSource.query(`KILL CONNECTION ${streaming[0]?.id}`)
  let text = ''
  const read = async (): Promise<void> => {
    for await (const chunk of socket) text = (text + chunk).slice(-5)
  }
  await read().catch(() => undefined)
  expect(text).not.toBe('0\r\n\r\n')
  await until(isFree, 5000)
  expect(world.faults.map(String)).toEqual([expect.stringMatching(/connection/i)])
})
