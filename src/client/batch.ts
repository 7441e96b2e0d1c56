import type { KeyOptions, RequestOptions } from './request-options.ts'
import { keepEtag, readJson, type Send } from './send.ts'
import { type Write, writeMethods } from './writes.ts'

/** An operation of a batch: see `RecordOperation`, which has its types. */
interface Operation {
  readonly write: Write
  readonly ref: (name: string) => object
}

/** Response to an operation (specification: Batches). */
interface Result {
  readonly status: number
  readonly headers: { readonly ETag?: string }
  readonly body: never
}

/** Function of the caller that builds the operations of a batch. */
export type BuildOperations = (resources: object) => readonly Operation[]

/**
 * Sends the operations that a function builds, in one request.
 * @param base URL of the mount
 * @param build gets methods that return operations, by the names of the resources
 * @throws {TypeError} if an operation refers to one that is not part of the batch
 */
export async function sendBatch(
  base: string,
  send: Send,
  build: BuildOperations,
  options?: RequestOptions & KeyOptions,
): Promise<readonly unknown[]> {
  const root = base.replace(/^\w+:\/\/[^/]+/, '')
  const resources = new Proxy(
    {},
    { get: (_, name) => writeMethods(`${root}/${String(name)}/`, (write) => operationOf(write())) },
  )
  const operationOf = (write: Write): Operation => {
    const operation: Operation = {
      write,
      ref: (name) => ({ toJSON: () => ({ $ref: `${indexOf(operation)}.${name}` }) }),
    }
    return operation
  }
  const operations = build(resources)
  const indexOf = (operation: Operation): number => {
    const index = operations.indexOf(operation)
    if (index < 0) throw new TypeError('an operation refers to another one that is not part of the batch')
    return index
  }
  const values = operations.map(({ write: { method, url, values: body, options: own } }) => ({
    method,
    path: url,
    body,
    headers: { 'If-Match': own?.ifMatch },
  }))
  const { results } = await readJson<{ readonly results: readonly Result[] }>(
    await send('POST', `${base}/-/batch`, values, options),
  )
  return results.map(({ status, headers, body }, index) => {
    keepEtag(body, headers.ETag)
    return operations[index]?.write.read(body, status)
  })
}
