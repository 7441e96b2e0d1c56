/** The same without Koa: `node:http` and the driver alone. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { serve } from '../serve'
import { BadRequest, handwrittenNotes } from './handwritten'
import { openSpelling } from './spellings'

const notes = handwrittenNotes(openSpelling())

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

async function answer(request: IncomingMessage): Promise<readonly [status: number, value: unknown, location?: string]> {
  const [path = '', query] = (request.url ?? '').split('?')
  const [, id] = /^\/api\/note\/(?:(\d+)\/)?$/.exec(path) ?? []
  if (request.method === 'GET') {
    return [200, id === undefined ? await notes.list(new URLSearchParams(query)) : await notes.read(id)]
  }
  const body = await readBody(request)
  if (id !== undefined) return [200, await notes.update(id, body)]
  const record = await notes.create(body)
  return [201, record, `/api/note/${record.id}/`]
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [status, value, location] = await answer(request).catch((error: unknown): readonly [number, unknown] => {
    if (!(error instanceof BadRequest)) throw error
    return [400, { detail: error.message }]
  })
  const text = JSON.stringify(value)
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    ...(location !== undefined && { Location: location }),
  })
  response.end(text)
}

serve(() => createServer(respond).listen(0, '127.0.0.1'))
