import { Readable } from 'node:stream'
import { clientName } from '../access/client-network'
import type { DbSession } from '../connection/db-session'
import { pause } from '../connection/pauses'
import { readFromReplica } from '../connection/replica'
import type { ListQuery } from '../query/query'
import type { Store } from '../read/store'
import { type ReceiveRows, walkRows } from '../read/walk'
import type { ListFormat } from '../resource'
import type { HttpResponse, StreamedBody } from '../response/http-response'
import { buildListWriter, formatHeaders } from '../response/list-formats'
import { RecordStream } from '../response/record-stream'
import type { PermittedRequest, Service } from './service'
import { renderWalkedRows } from './walked-records'

/**
 * Responds with all records of a list, in a format other than JSON. The promise resolves when the first records are read,
 * so that errors before them are problem documents.
 * @param store the store with the selected fields
 * @param query its limit is that of the request
 */
export async function respondStream(
  service: Service,
  request: PermittedRequest,
  store: Store,
  query: ListQuery,
  format: ListFormat,
): Promise<HttpResponse> {
  const { session, method } = request
  const { limits, escapeFormulas, streams } = service
  // HEAD reads only the first records, so it does not count towards `limits.streams`.
  const isHead = method === 'HEAD'
  const { head, render } = buildListWriter(format, store.view, escapeFormulas)
  const body = new RecordStream(head, limits)
  let failure: { readonly error: unknown } | undefined
  const receive: ReceiveRows = async (rowSession, walked) => {
    for await (const records of renderWalkedRows(request, limits, rowSession, store, walked)) {
      await body.send(render(records))
      // The rows of many batches can arrive together, and be sent without waiting.
      await pause(session)
    }
  }
  const walk = (walkSession: DbSession): Promise<void> =>
    walkRows(walkSession, store, query, limits, receive, isHead ? 'read' : 'stream').catch((error: unknown) => {
      // After the first byte, the walk must not begin again on the primary.
      if (!body.isStarted) throw error
      failure = { error }
    })
  const sendList = async (): Promise<void> => {
    await readFromReplica(session, walk)
    if (failure !== undefined) throw failure.error
    await body.finish()
  }
  const done = isHead ? sendList() : streams.run(clientName(session), body, sendList)
  await Promise.race([body.started, done])
  // The caller handles errors of `done` later. Until then, an error would be an unhandled rejection.
  done.catch(() => undefined)
  const stream = isHead ? await discard(body, done) : { readable: body, done }
  return { status: 200, headers: formatHeaders(format, store.view), cacheControl: undefined, body: '', stream }
}

/** Ends a walk whose records are not sent, and waits until its connection is released. */
async function discard(body: RecordStream, done: Promise<void>): Promise<StreamedBody> {
  body.destroy()
  await done.catch(() => undefined)
  return { readable: Readable.from([]), done: Promise.resolve() }
}
