import Database from 'better-sqlite3'
import type { Client } from './client'
import { counts } from './data'

/** A write of the page, and the ways to send it. */
export interface Write {
  readonly name: string
  readonly rounds: number
  readonly ways: Readonly<Record<string, () => Promise<unknown>>>
  /** Undoes the write of one way. It fails if the way has written anything else. */
  readonly undo: () => void
}

const doneTasks = 50
const lineCount = 30
const entryCount = 5000

const taskIds = Array.from({ length: doneTasks }, (_, index) => 1 + index)
const invoice = { number: '2026-1', project_id: 1 }
const lines = Array.from({ length: lineCount }, (_, index) => ({
  text: `Work of week ${index}`,
  quantity: 1 + (index % 8),
  price: `${80 + index}.50`,
}))
const entries = Array.from({ length: entryCount }, (_, index) => ({
  minutes: 15 + (index % 32) * 15,
  day: `2026-07-${10 + (index % 20)}`,
  task_id: 1 + (index % counts.tasks),
}))
const ndjson = { body: entries.map((entry) => JSON.stringify(entry)).join('\n'), type: 'application/x-ndjson' }

const json = (value: object, headers = {}) => ({ body: JSON.stringify(value), headers })

/** The writes of the page, sent to the service and to endpoints written by hand, which use one SQLite file. */
export function writes(file: string, [own, other]: readonly [Client, Client]): readonly Write[] {
  const db = new Database(file)
  const lastIn = (table: string): number =>
    Number(db.prepare(`SELECT COALESCE(MAX(id), 0) FROM "${table}"`).pluck().get())
  const last = { entry: lastIn('entry'), line: lastIn('line'), invoice: lastIn('invoice') }

  /** Deletes the new rows of a table. */
  const remove = (table: keyof typeof last, expected: number): void => {
    const { changes } = db.prepare(`DELETE FROM "${table}" WHERE id > ?`).run(last[table])
    if (changes !== expected) throw new Error(`${changes} rows of ${table} instead of ${expected}`)
  }

  /** A POST whose response is lost, so that the client sends it again. */
  const postTwice = async (headers: () => object) => {
    const content = json(entries[0] ?? {}, headers())
    await own.send('POST', '/api/entry/', content)
    await own.send('POST', '/api/entry/', content)
  }
  let keys = 0

  return [
    {
      name: '50 tasks are done',
      rounds: 80,
      ways: {
        'separate requests': async () => {
          for (const id of taskIds) await own.send('PATCH', `/api/task/${id}/`, json({ state: 'done' }))
        },
        'one request': () => own.send('PATCH', `/api/task/?id__in=${taskIds}`, json({ state: 'done' })),
        'written by hand': () => other.send('PATCH', '/task', json({ ids: taskIds, state: 'done' })),
      },
      undo: () => {
        const { changes } = db.prepare("UPDATE task SET state = 'open' WHERE id <= ? AND state = 'done'").run(doneTasks)
        if (changes !== doneTasks) throw new Error(`${changes} tasks were done`)
      },
    },
    {
      name: 'invoice with 30 lines',
      rounds: 80,
      ways: {
        'separate requests': async () => {
          const { id } = JSON.parse(await own.send('POST', '/api/invoice/', json(invoice)))
          for (const line of lines) await own.send('POST', '/api/line/', json({ ...line, invoice_id: id }))
        },
        'one request': () => own.send('POST', '/api/invoice/', json({ ...invoice, lines })),
        'written by hand': () => other.send('POST', '/invoice', json({ ...invoice, lines })),
      },
      undo: () => {
        remove('line', lineCount)
        remove('invoice', 1)
      },
    },
    {
      name: 'import of 5,000 entries',
      rounds: 7,
      ways: {
        'separate requests': async () => {
          for (const entry of entries) await own.send('POST', '/api/entry/', json(entry))
        },
        'one request': () => own.send('POST', '/api/entry/', ndjson),
        'written by hand': () => other.send('POST', '/entries', ndjson),
      },
      undo: () => remove('entry', entryCount),
    },
    {
      name: 'POST that is sent twice, without a key: two entries',
      rounds: 80,
      ways: { 'two requests': () => postTwice(() => ({})) },
      undo: () => remove('entry', 2),
    },
    {
      name: 'POST that is sent twice, with a key: one entry',
      rounds: 80,
      ways: { 'two requests': () => postTwice(() => ({ 'Idempotency-Key': `"bench-${++keys}"` })) },
      undo: () => remove('entry', 1),
    },
  ]
}
