import { hash } from 'node:crypto'
import type { RecordRenderer } from './record'

/** JSON of a stored record, and its strong validator (RFC 9110, ETag). */
export interface StoredRecord {
  readonly json: string
  readonly tag: string
}

/** Renders a stored row, and computes its ETag. The result is the same for a row of values and for a raw row. */
export function renderStored<From>({ toRecord, exactValues }: RecordRenderer<From>, from: From): StoredRecord {
  const json = JSON.stringify(toRecord(from))
  return { json, tag: tagOf(json, exactValues(from)) }
}

/**
 * Computes an ETag from the JSON of a record. Hidden fields are not included: otherwise clients could find out that a
 * hidden value has changed, or guess the value.
 * @param exactValues stored values of shown fields whose JSON may be less exact
 */
function tagOf(json: string, exactValues: readonly unknown[]): string {
  let text = json
  for (const value of exactValues.flat(Number.POSITIVE_INFINITY)) {
    if (value instanceof Date) text += ` ${value.getTime()}`
  }
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`
}
