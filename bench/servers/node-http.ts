/** The same without Koa: `node:http` and the driver alone. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { serve } from '../serve'
import { type Answer, BadRequest, handwrittenNotes } from './handwritten'
import { openSpelling } from './spellings'

const notes = handwrittenNotes(openSpelling())

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

async function answer(request: IncomingMessage): Promise<readonly [status: number, answer: Answer]> {
  const [path = '', query] = (request.url ?? '').split('?')
  const [, id] = /^\/api\/note\/(?:(\d+)\/)?$/.exec(path) ?? []
  if (request.method === 'GET') {
    return [200, id === undefined ? await notes.list(new URLSearchParams(query)) : await notes.read(id)]
  }
  const body = await readBody(request)
  return id === undefined ? [201, await notes.create(body)] : [200, await notes.update(id, body)]
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [status, { json, headers }] = await answer(request).catch((error: unknown): readonly [number, Answer] => {
    if (!(error instanceof BadRequest)) throw error
    return [400, { json: JSON.stringify({ detail: error.message }), headers: { 'Content-Type': 'application/json' } }]
  })
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(json) })
  response.end(json)
}

serve(() => createServer(respond).listen(0, '127.0.0.1'))
