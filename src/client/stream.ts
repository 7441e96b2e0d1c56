import { ResourceError } from './error.ts'
import { parseJson } from './send.ts'

/** Media type of a streamed list. */
export const ndjson = 'application/x-ndjson'

/**
 * Reads the records of a streamed list while they arrive. The request is cancelled if the caller does not read all of them.
 * @throws {ResourceError} if the response is not NDJSON, or ends within a record
 * @throws errors of `fetch`, for example if the connection is closed before the end
 */
export async function* readRecords(response: Response): AsyncGenerator<never, void, undefined> {
  const { status, url, headers, body } = response
  if (body === null || !headers.get('Content-Type')?.startsWith(ndjson)) {
    await body?.cancel()
    throw new ResourceError(status, undefined, `${url} is not NDJSON; the resource needs the option "formats"`)
  }
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (let isDone = false; !isDone; ) {
      const { done, value } = await reader.read()
      isDone = done
      const lines = decoder.decode(value, { stream: !done }).split('\n')
      lines[0] = rest + lines[0]
      rest = lines.pop() ?? ''
      for (const line of lines) yield parseJson(response, line) as never
    }
    if (rest !== '') throw new ResourceError(status, undefined, `the response of ${url} ends within a record`)
  } finally {
    await reader.cancel()
  }
}
