import { type PausableSession, pause } from '../connection/pauses'

import type { RequestEvent } from '../diagnostics'
import { ApiError } from '../errors'
import { type Reference, textOf, valueAt } from '../request/batch-references'
import type { Limits } from '../request/limits'
import type { ResponseMemory } from '../response/held-bytes'
import { type HttpResponse, jsonResponse } from '../response/http-response'

/** Headers of a response that the result of an operation has. */
const headerNames = ['Location', 'Content-Location', 'ETag'] as const

/** The responses of the operations of a batch that have run. */
export class BatchResults {
  readonly #limits: Limits
  readonly #responses: HttpResponse[] = []
  readonly #events: RequestEvent[] = []
  /** The values of references so far, by their texts. */
  readonly #values = new Map<string, unknown>()
  /** Number of bytes of all bodies. */
  #bytes = 0
  /** Length of all texts that were inserted for references. */
  #insertedLength = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Number of operations that have run. */
  get count(): number {
    return this.#responses.length
  }

  /** Events for the diagnostics channels, one for each operation, if there are subscribers. */
  get events(): readonly RequestEvent[] {
    return this.#events
  }

  /**
   * Adds the response of the next operation.
   * @throws {ApiError} `body-too-large` if all results together exceed `limits.itemBytes`, the size of a record that is
   * certain to fit into a string
   */
  add(response: HttpResponse, event: Omit<RequestEvent, 'status'> | undefined): void {
    const { itemBytes } = this.#limits
    this.#bytes += Buffer.byteLength(response.body)
    if (this.#bytes > itemBytes) {
      const detail = `the results have more than ${itemBytes} bytes (limits.itemBytes); send fewer operations`
      throw new ApiError('body-too-large', detail)
    }
    this.#responses.push(response)
    if (event !== undefined) this.#events.push({ ...event, status: response.status })
  }

  /** The response of an operation. */
  responseOf(index: number): HttpResponse {
    const response = this.#responses[index]
    if (response === undefined) throw new RangeError(`there is no result of operation ${index}`)
    return response
  }

  /** Replaces the response of an operation by one with included records, unless all results would become too long. */
  replace(index: number, response: HttpResponse): void {
    const { body: replaced } = this.responseOf(index)
    const bytes = this.#bytes + Buffer.byteLength(response.body) - Buffer.byteLength(replaced)
    if (bytes > this.#limits.itemBytes) return
    this.#bytes = bytes
    this.#responses[index] = response
  }

  /**
   * The values of references, by their texts (`textOf`). Parsing a long result takes some time, so other requests run in between.
   * @param session of the batch
   * @param references by the index of the operation to whose result they refer
   * @throws {ApiError} `bad-values`, and `body-too-large` if the texts of all references exceed `limits.body`
   */
  async lookUp(
    session: PausableSession,
    references: ReadonlyMap<number, readonly Reference[]>,
  ): Promise<ReadonlyMap<string, unknown>> {
    for (const [index, ofResult] of references) {
      const unknown = ofResult.filter((reference) => !this.#values.has(textOf(reference)))
      // The body is not kept: parsed JSON can take twenty times the memory of its text.
      const body = unknown.length === 0 ? undefined : parseBody(this.responseOf(index))
      for (const reference of unknown) this.#values.set(textOf(reference), valueAt(body, reference))
      for (const reference of ofResult) this.#addInserted(this.#values.get(textOf(reference)))
      await pause(session)
    }
    return this.#values
  }

  #addInserted(value: unknown): void {
    this.#insertedLength += typeof value === 'string' ? value.length : 0
    if (this.#insertedLength > this.#limits.body) {
      throw new ApiError(
        'body-too-large',
        `references may insert at most ${this.#limits.body} characters (limits.body)`,
      )
    }
  }

  /** The memory of the response to the batch, for the response to one more operation beside the results so far. */
  memoryBeside(memory: ResponseMemory): ResponseMemory {
    return { ...memory, reserve: (bytes) => memory.reserve(this.#bytes + bytes) }
  }

  /** The response to the batch. */
  toResponse(): HttpResponse {
    const response = jsonResponse(200, `{"results":[${this.#responses.map(renderResult).join()}]}`)
    const isSecret = this.#responses.some(({ cacheControl }) => cacheControl === 'no-store')
    return isSecret ? { ...response, cacheControl: 'no-store' } : response
  }
}

/** JSON of the body of a response; null if it has none. */
function parseBody({ body }: HttpResponse): unknown {
  return body === '' ? null : JSON.parse(body)
}

function renderResult({ status, headers, body }: HttpResponse): string {
  const shown = headerNames.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]))
  return `{"status":${status},"headers":${JSON.stringify(Object.fromEntries(shown))},"body":${body === '' ? 'null' : body}}`
}
