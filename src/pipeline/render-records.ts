import { mustPause, type PausableSession, pause } from '../connection/pauses'
import type { JsonRecord } from '../read/record'

/**
 * Renders the records of a page. Other requests may run before each record, because a single one may take a tenth of a second. The
 * records so far then become text, because parsed JSON may take more than twenty times as much memory.
 * @param session of the request
 * @param beforePause called before other requests run, with the size of the text so far, in bytes
 * @returns the records, or their text: the members of a JSON array, separated by commas
 */
export async function renderRecords<From>(
  session: PausableSession,
  rows: readonly From[],
  render: (row: From) => JsonRecord,
  beforePause: (textBytes: number) => void,
): Promise<readonly JsonRecord[] | string> {
  const texts: string[] = []
  let textBytes = 0
  let records: JsonRecord[] = []
  for (const row of rows) {
    if (mustPause()) {
      if (records.length > 0) {
        const text = toText(records)
        texts.push(text)
        textBytes += Buffer.byteLength(text)
        records = []
      }
      beforePause(textBytes)
      await pause(session)
    }
    records.push(render(row))
  }
  return texts.length === 0 ? records : [...texts, ...(records.length > 0 ? [toText(records)] : [])].join()
}

/**
 * Renders the records of a streamed list. If this takes long, they are returned a few at a time, so that the caller can send
 * them, and let other requests run in between.
 */
export function* renderGroups<From>(
  rows: readonly From[],
  render: (row: From) => JsonRecord,
): Generator<readonly JsonRecord[]> {
  let records: JsonRecord[] = []
  for (const row of rows) {
    records.push(render(row))
    if (!mustPause()) continue
    yield records
    records = []
  }
  if (records.length > 0) yield records
}

/** The text of records that are rendered already. */
export function toText(records: readonly JsonRecord[] | string): string {
  return typeof records === 'string' ? records : JSON.stringify(records).slice(1, -1)
}
