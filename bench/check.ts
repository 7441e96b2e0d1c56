import { deepStrictEqual, ok } from 'node:assert/strict'
import type { Running } from './process'
import type { BenchRequest, Work } from './work'

/** Hand-written servers must give the answers that ours gives, byte by byte, headers too: else they would be measured at something else. */
const sameBytes: ReadonlySet<string> = new Set(['limit', 'node-http', 'limit-postgres'])
const lists: readonly Work[] = ['list', 'filter', 'join', 'deepPage', 'list500']
const writes: readonly Work[] = ['create', 'update']
/** The writes come last, so that everybody reads the same. */
const compared: readonly Work[] = [...lists, 'item', ...writes]

/** Everybody must answer the records that ours answers, in its order, and what is written with the values that were sent. */
export async function checkAnswers(running: readonly Running[]): Promise<void> {
  for (const work of compared) {
    for (const one of running) {
      const { engine } = one.contestant
      const ours = running.find(({ contestant }) => contestant.name.startsWith('ours') && contestant.engine === engine)
      for (const pick of [0, 1, 2, 17]) await checkAnswer(one, ours, work, pick)
    }
  }
}

async function checkAnswer(one: Running, ours: Running | undefined, work: Work, pick: number): Promise<void> {
  const own = await ask(one, work, pick)
  if (own === undefined) return
  const { name } = one.contestant
  if (writes.includes(work)) await checkWritten(one, work, pick, own.text)
  // What is created has the next id, here and there another.
  const expected = work === 'create' ? undefined : ours && (await ask(ours, work, pick))
  if (ours === undefined || expected === undefined) return
  const records = idsIn(ours, work, expected.text)
  deepStrictEqual(idsIn(one, work, own.text), records, `${name} answers ${work} with other records`)
  const compared = lists.includes(work) ? withoutTag(expected) : expected
  if (sameBytes.has(name)) deepStrictEqual(own, compared, `${name} answers ${work} otherwise`)
}

/** The response without its ETag: the lists of hand-written servers have none. */
function withoutTag({ headers, ...response }: Heard): Heard {
  const { etag, ...others } = headers
  return { ...response, headers: others }
}

/** A write answers with what was sent, and an update is what is read from then on. */
async function checkWritten(one: Running, work: Work, pick: number, answer: string): Promise<void> {
  const sent = Object.entries(JSON.parse(one.contestant.requests[work]?.(pick).body ?? '{}'))
  for (const text of [answer, work === 'update' ? (await ask(one, 'item', pick))?.text : undefined]) {
    if (text === undefined) continue
    const record = JSON.parse(text)
    // TypeORM's own servers are sent the foreign key as ours is, and show it by the name of its property.
    const shown = sent.map(([field]) => [field, record[field] ?? (field === 'author_id' ? record.authorId : undefined)])
    deepStrictEqual(shown, sent, `${one.contestant.name} answers ${work} with other values`)
  }
}

function idsIn({ contestant }: Running, work: Work, answer: string): readonly unknown[] {
  const value: unknown = JSON.parse(answer)
  return (lists.includes(work) ? contestant.recordsOf(value) : [value]).map((record) => Object(record).id)
}

/** What is compared of an answer. */
interface Heard {
  readonly text: string
  readonly status: number
  /** All but the time of the answer. */
  readonly headers: Readonly<Record<string, string>>
}

async function ask({ contestant, origin }: Running, work: Work, pick: number): Promise<Heard | undefined> {
  const request = contestant.requests[work]?.(pick)
  if (request === undefined) return undefined
  const { path, ...options }: BenchRequest = request
  const response = await fetch(`${origin}${path}`, options)
  const text = await response.text()
  ok(response.ok, `${contestant.name} answers ${work} with ${response.status}: ${text}`)
  const { date, ...headers } = Object.fromEntries(response.headers)
  return { text, status: response.status, headers }
}
