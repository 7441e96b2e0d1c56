/** `node:http` with prepared statements of the driver. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { serve } from '../serve'
import { BadRequest, handwrittenNotes, type NoteResponse } from './handwritten'
import { openDatabase } from './statements'

const notes = handwrittenNotes(openDatabase())

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

async function responseTo(request: IncomingMessage): Promise<readonly [status: number, response: NoteResponse]> {
  const [path = '', query] = (request.url ?? '').split('?')
  const [, id] = /^\/api\/note\/(?:(\d+)\/)?$/.exec(path) ?? []
  if (request.method === 'GET') {
    return [200, id === undefined ? await notes.list(new URLSearchParams(query)) : await notes.read(id)]
  }
  const body = await readBody(request)
  return id === undefined ? [201, await notes.create(body)] : [200, await notes.update(id, body)]
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [status, { json, headers }] = await responseTo(request).catch(
    (error: unknown): readonly [number, NoteResponse] => {
      if (!(error instanceof BadRequest)) throw error
      return [400, { json: JSON.stringify({ detail: error.message }), headers: { 'Content-Type': 'application/json' } }]
    },
  )
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(json) })
  response.end(json)
}

serve(() => createServer(respond).listen(0, '127.0.0.1'))
