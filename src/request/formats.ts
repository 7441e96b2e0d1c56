import type { IncomingHttpHeaders } from 'node:http'
import type { AccessRequest } from '../access/rule'
import type { FieldErrors } from '../errors'
import type { ListFormat } from '../resource'
import { preferredType } from './accept'

/** Formats of the response to a list request, besides JSON. */
export interface FormatChoice {
  /** The formats of the resource. */
  readonly offered: readonly ListFormat[]
  /** The format that the header `Accept` prefers to JSON; undefined if it prefers none. */
  readonly accepted: ListFormat | undefined
}

/** The choice for a resource whose lists are pages of JSON only. */
export const onlyJson: FormatChoice = { offered: [], accepted: undefined }

/** Media types of the formats, without parameters. */
export const mediaTypes: Readonly<Record<ListFormat, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
}

/**
 * Parses the parameter `format`, which has precedence over the header `Accept`.
 * @returns undefined for a page of JSON
 */
export function parseFormat(
  text: string | undefined,
  { offered, accepted }: FormatChoice,
  errors: FieldErrors,
): ListFormat | undefined {
  if (text === undefined) return accepted
  const format = offered.find((name) => name === text)
  if (format === undefined && text !== 'json') errors.add('format', `must be one of json, ${offered.join(', ')}`)
  return format
}

/**
 * Finds the format that the header `Accept` names and prefers to JSON. A range such as `text/*` does not name it, so that
 * clients without a special wish get JSON.
 * @param headers those of the request, or of an operation of it, which has no header `Accept`
 */
export function acceptedFormat(
  headers: IncomingHttpHeaders,
  context: AccessRequest['context'],
  offered: readonly ListFormat[],
): ListFormat | undefined {
  const { accept } = headers
  if (accept === undefined) return undefined
  const named = offered.filter((format) => accept.toLowerCase().includes(mediaTypes[format]))
  if (named.length === 0) return undefined
  const chosen = preferredType(context, ['application/json', ...named.map((format) => mediaTypes[format])])
  return named.find((format) => mediaTypes[format] === chosen)
}
