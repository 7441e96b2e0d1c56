import { createServer } from 'node:http'
import { followEvents, type LiveEvent } from '../../src/client/events'
import { buildSend } from '../../src/client/send'
import { listen } from '../support/listen'

const silenceMs = 1000

test('a connection on which nothing arrives is replaced by another one', async () => {
  const control = new AbortController()
  const lastIds: unknown[] = []
  const server = createServer(({ headers }, response) => {
    lastIds.push(headers['last-event-id'])
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(`retry: 10\n\nid: ${lastIds.length}\nevent: gone\ndata: {"id":${lastIds.length}}\n\n`)
    if (lastIds.length === 1) return
    // Heartbeats keep the second connection open.
    const timer = setInterval(() => response.write(':\n\n'), silenceMs / 10)
    setTimeout(() => control.abort(new Error('enough')), silenceMs * 1.5)
    response.once('close', () => clearInterval(timer))
  })
  const received: LiveEvent[] = []
  const following = followEvents(
    buildSend({}),
    await listen(server),
    control.signal,
    (events) => received.push(...events),
    silenceMs,
  )
  await expect(following).rejects.toThrow('enough')
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
  expect(lastIds).toEqual([undefined, '1'])
  expect(received).toEqual([1, 2].map((id) => ({ name: 'gone', data: { id } })))
})
