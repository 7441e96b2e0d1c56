import { deepStrictEqual, ok } from 'node:assert/strict'
import type { Running } from './process'
import type { BenchRequest, Work } from './work'

const lists: readonly Work[] = ['list', 'filter', 'join', 'deepPage', 'list500']
const writes: readonly Work[] = ['create', 'update']
/** Reads are compared before writes, so that all implementations read the same records. */
const compared: readonly Work[] = [...lists, 'item', ...writes]

/** Numbers of the requests that are compared. Every list has records. */
const picks = [1, 2, 3, 17]

/**
 * Compares the responses of all implementations with those of `ours` on the same engine: the same records in the same order, with the
 * same values. A record that was written must have the values that were sent.
 */
export async function checkResponses(running: readonly Running[]): Promise<void> {
  for (const work of compared) {
    for (const one of running) {
      const { engine } = one.deployment
      const ours = running.find(
        ({ deployment }) => deployment.implementation.name === 'ours' && deployment.engine === engine,
      )
      for (const pick of picks) await checkResponse(one, ours, work, pick)
    }
  }
}

async function checkResponse(one: Running, ours: Running | undefined, work: Work, pick: number): Promise<void> {
  const own = await request(one, work, pick)
  if (own === undefined) return
  const { name, implementation } = one.deployment
  if (writes.includes(work)) await checkWritten(one, work, pick, own.text)
  // A new record has another id in each response.
  const expected = work === 'create' ? undefined : ours && (await request(ours, work, pick))
  if (ours === undefined || expected === undefined) return
  const records = recordsIn(ours, work, expected.text)
  ok(records.length > 0, `${work} has no records`)
  deepStrictEqual(recordsIn(one, work, own.text), records, `${name} has other records in ${work}`)
  if (implementation.equal === 'body') deepStrictEqual(own.text, expected.text, `${name} has another body in ${work}`)
  if (implementation.equal !== 'response') return
  // The lists of servers written by hand have no ETag.
  const comparable = own.headers['etag'] === undefined && lists.includes(work) ? withoutEtag(expected) : expected
  deepStrictEqual(own, comparable, `${name} has another response in ${work}`)
}

function withoutEtag({ headers, ...response }: ComparedResponse): ComparedResponse {
  const { etag, ...others } = headers
  return { ...response, headers: others }
}

/** Checks that the response to a write has the values that were sent, and that an update is stored. */
async function checkWritten(one: Running, work: Work, pick: number, text: string): Promise<void> {
  const { requests, name } = one.deployment
  const body = JSON.parse(requests[work]?.(pick).body ?? '{}')
  const { author_id, authorId = author_id, ...values } = body.data ?? body
  const sent = { ...values, ...(authorId !== undefined && { authorId }) }
  for (const shownText of [text, work === 'update' ? (await request(one, 'item', pick))?.text : undefined]) {
    if (shownText === undefined) continue
    const [record] = recordsIn(one, work, shownText)
    const shown = Object.fromEntries(Object.keys(sent).map((field) => [field, Object(record)[field]]))
    deepStrictEqual(shown, sent, `${name} has other values in ${work}`)
  }
}

/** The records of a response, in a form that is the same for all implementations. */
function recordsIn({ deployment }: Running, work: Work, text: string): readonly object[] {
  const { recordsOf, recordOf = (response) => response } = deployment.implementation
  const response: unknown = JSON.parse(text)
  return (lists.includes(work) ? recordsOf(response) : [recordOf(response)]).map((record) => {
    const { id, title, body, score, published, created, author_id, authorId = author_id } = Object(record)
    return { id, title, body, score, published, created: secondsOf(created), authorId }
  })
}

/** A date-time in UTC, in seconds since 1970: `2025-01-31 12:00:00`, or ISO 8601. */
const secondsOf = (text: string): number => Math.floor(Date.parse(/Z$/.test(text) ? text : `${text}Z`) / 1000)

/** The compared parts of a response. */
interface ComparedResponse {
  readonly text: string
  readonly status: number
  /** All headers but `Date`. */
  readonly headers: Readonly<Record<string, string>>
}

async function request(
  { deployment, origin }: Running,
  work: Work,
  pick: number,
): Promise<ComparedResponse | undefined> {
  const sent = deployment.requests[work]?.(pick)
  if (sent === undefined) return undefined
  const { path, ...options }: BenchRequest = sent
  const response = await fetch(`${origin}${path}`, options)
  const text = await response.text()
  ok(response.ok, `${deployment.name} responds to ${work} with ${response.status}: ${text}`)
  const { date, ...headers } = Object.fromEntries(response.headers)
  return { text, status: response.status, headers }
}
