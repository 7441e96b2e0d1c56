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
  await requireType(response, ndjson, 'is not NDJSON; the resource needs the option "formats"')
  for await (const lines of readLines(response)) {
    for (const line of lines) yield parseJson(response, line) as never
  }
}

/** @param problem end of the error's message @throws {ResourceError} if the response has another media type */
export async function requireType(
  { status, url, headers, body }: Response,
  mediaType: string,
  problem: string,
): Promise<void> {
  if (headers.get('Content-Type')?.startsWith(mediaType)) return
  await body?.cancel()
  throw new ResourceError(status, undefined, `${url} ${problem}`)
}

/**
 * Reads the lines of a response while they arrive: those that each chunk completes. The request is cancelled if the caller
 * does not read all of them.
 * @throws {ResourceError} if the response ends within a line
 * @throws errors of `fetch`
 */
export async function* readLines({ status, url, body }: Response): AsyncGenerator<readonly string[], void, undefined> {
  if (body === null) return
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
      yield lines
    }
    if (rest !== '') throw new ResourceError(status, undefined, `the response of ${url} ends within a record`)
  } finally {
    await reader.cancel()
  }
}
