import { FieldErrors } from '../../errors'
import type { JsonSchema } from '../../value/value-type'
import type { UsableResource } from './usable'

/** A tool. Each action has one, which works for all resources. */
export interface Tool {
  readonly name: string
  /** HTTP method of the request that a call becomes; undefined for a call that reads no records. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly description: string
  readonly arguments: Readonly<Record<string, JsonSchema & { readonly type: string | readonly string[] }>>
  readonly required: readonly string[]
  /** Whether a call may change or delete what is stored. */
  readonly destructive?: boolean
  /** Whether the sender of a request may call the tool for a resource. */
  readonly isUsable: (resource: UsableResource) => boolean
}

const text = (description: string) => ({ type: 'string', description })
const integer = (description: string) => ({ type: 'integer', minimum: 1, description })
const object = (description: string) => ({ type: 'object', description })

const resource = text('Name of a resource, from "describe"')
// Models write ids as they have read them: most are numbers.
const id = { type: ['string', 'integer'], description: 'Id of the record' }
const filters = {
  ...object(
    'Names and values, all of which must match: {"state":"open","due__lt":"2026-01-01","assignee__name__ilike":"a%","id__in":"1,2"}',
  ),
  additionalProperties: { type: ['string', 'number', 'boolean'] },
}
const search = text('Words to find, if "describe" names fields to search')
const ordering = text('Fields, separated by commas; "-due" sorts in descending order')
const fields = text('Names of the fields to return, separated by commas. Default: all')
const include = text('Relations whose records to add, separated by commas: "project,comments"')
const values = object('The fields and their values')
const ifMatch = text('The "etag" of the record from "get": the call is refused if the record has changed since')
const page = integer('Number of the page. Default: 1')
const idempotencyKey = text('A unique text, so that the same call, if it is repeated, is carried out once')

/** The tools, with the arguments that parameters of requests have too under the same names. */
export const tools: readonly Tool[] = [
  {
    name: 'describe',
    description:
      'Lists the resources, with the tools that can be called for each, and the id of the user. With "resource", describes its fields, filters and relations. Call it first.',
    arguments: { resource },
    required: [],
    isUsable: () => true,
  },
  {
    name: 'list',
    method: 'GET',
    description:
      'Lists the records of a resource that match. If "meta.next" of the result is not empty, there are more: call again with the next page.',
    arguments: {
      resource,
      filters,
      search,
      ordering,
      fields,
      include,
      limit: integer('Number of records. Default: 20'),
      page,
      after: text('Instead of "page", for resources whose "meta.next" contains "after": its value'),
      count: { ...text('Adds the number of all records as "meta.total"'), enum: ['exact', 'capped'] },
    },
    required: ['resource'],
    isUsable: ({ reads }) => reads,
  },
  {
    name: 'get',
    method: 'GET',
    description: 'Returns one record, and its ETag.',
    arguments: { resource, id, fields, include },
    required: ['resource', 'id'],
    isUsable: ({ reads }) => reads,
  },
  {
    name: 'aggregate',
    method: 'GET',
    description:
      'Counts records and computes sums, averages, minima and maxima, for all records that match or by groups.',
    arguments: {
      resource,
      aggregate: text('Functions, separated by commas: "count,minutes__sum"'),
      by: text('Fields whose values form the groups, separated by commas: "project,day__month"'),
      filters,
      search,
      ordering,
      limit: integer('Number of groups. Default: 20'),
      page,
    },
    required: ['resource', 'aggregate'],
    isUsable: ({ reads, view }) => reads && view.optionalParameters.has('aggregate'),
  },
  {
    name: 'create',
    method: 'POST',
    description: 'Creates a record. Returns it as it is stored.',
    arguments: { resource, values, idempotency_key: idempotencyKey },
    required: ['resource', 'values'],
    isUsable: ({ writes }) => writes.has('create'),
  },
  {
    name: 'update',
    method: 'PATCH',
    description:
      'Changes the fields of a record that "values" names; the others stay. Returns the record as it is stored.',
    arguments: { resource, id, values, if_match: ifMatch, idempotency_key: idempotencyKey },
    required: ['resource', 'id', 'values'],
    destructive: true,
    isUsable: ({ writes }) => writes.has('update'),
  },
  {
    name: 'delete',
    method: 'DELETE',
    description: 'Deletes a record.',
    arguments: { resource, id, if_match: ifMatch },
    required: ['resource', 'id'],
    destructive: true,
    isUsable: ({ writes }) => writes.has('delete'),
  },
]

export const toolNames = tools.map(({ name }) => name).join(', ')

/**
 * The tool as `tools/list` shows it.
 * @param isKeyed whether writes can have idempotency keys
 */
export function renderTool(tool: Tool, isKeyed: boolean) {
  const { name, method = 'GET', description, required, destructive = false } = tool
  const { idempotency_key: key, ...others } = tool.arguments
  return {
    name,
    description,
    inputSchema: {
      type: 'object' as const,
      properties: isKeyed ? tool.arguments : others,
      required: [...required],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: method === 'GET', destructiveHint: destructive, openWorldHint: false },
  }
}

/** Arguments of a tool call, which {@link checkToolArguments} has checked. */
export interface ToolArguments {
  readonly resource?: string
  readonly id?: string | number
  readonly filters?: Readonly<Record<string, unknown>>
  readonly values?: unknown
  readonly if_match?: string
  readonly idempotency_key?: string
  readonly [parameter: string]: unknown
}

/** The arguments that are query parameters under the same name. */
const parameterNames = ['search', 'ordering', 'fields', 'include', 'limit', 'page', 'after', 'count', 'aggregate', 'by']

/** Names that `filters` must not contain: parameters with an argument of their own, and the format of the response. */
const reservedNames = new Set([...parameterNames, 'format'])

/** @returns the mistakes in the arguments of a call; those in values and filters are found by the request */
export function checkToolArguments(tool: Tool, given: Readonly<Record<string, unknown>>): FieldErrors {
  const errors = new FieldErrors()
  const names = Object.keys(tool.arguments)
  for (const name of Object.keys(given)) {
    if (!names.includes(name)) errors.add(name, `is not an argument of "${tool.name}"; arguments: ${names.join(', ')}`)
  }
  for (const name of names) {
    const types = [tool.arguments[name]?.type ?? []].flat()
    const value = given[name]
    if (value === undefined) {
      if (tool.required.includes(name)) errors.add(name, 'is required')
    } else if (!types.some((type) => typeMatches[type]?.(value))) {
      errors.add(name, `must be ${types.map((type) => `${type === 'string' ? 'a' : 'an'} ${type}`).join(' or ')}`)
    } else if (value === '' && (name === 'id' || name === 'resource')) {
      errors.add(name, 'must not be empty')
    }
  }
  const { filters: members } = given
  if (isObject(members)) checkFilters(members, errors.within('filters'))
  return errors
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const typeMatches: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: Number.isSafeInteger,
  object: isObject,
}

function checkFilters(members: object, errors: FieldErrors): void {
  for (const [name, value] of Object.entries(members)) {
    if (reservedNames.has(name)) {
      errors.add(name, `is not a filter${parameterNames.includes(name) ? ' but an argument of its own' : ''}`)
    } else if (!['string', 'number', 'boolean'].includes(typeof value)) {
      const advice = value === null ? `; for records without a value, write "${name}__is": "null"` : ''
      errors.add(name, `must be a string, a number or a boolean${advice}`)
    } else if (typeof value === 'number' && mayLackDigits(value)) {
      errors.add(name, 'must be a string, because a number in JSON can lose digits')
    }
  }
}

/** Whether a number in JSON may have had other digits: a double represents all numbers of 15 digits. */
function mayLackDigits(value: number): boolean {
  if (Number.isInteger(value)) return !Number.isSafeInteger(value)
  const digits = String(value).replace(/e.*|\D/g, '')
  return digits.replace(/^0+/, '').length > 15
}

/**
 * Maximum length of the arguments of a call besides `values`, in characters. They become the URL and the headers of a request,
 * which Node.js limits to the same length for HTTP requests. Encoding and parsing an id of 1 MB would block the event loop for
 * 130 milliseconds.
 */
export const maxUrlAndHeaders = 16_384

/** Length of the arguments of a call that become the URL and the headers of a request, in characters. */
export function urlAndHeadersLength({ values: _, filters = {}, ...others }: ToolArguments): number {
  const texts = [...Object.entries(filters).flat(), ...Object.values(others)]
  return texts.reduce<number>((sum, text) => sum + String(text).length, 0)
}

/** The query string of the request that a call becomes. */
export function querystringOf({ filters: members = {}, ...others }: ToolArguments): string {
  const parameters = parameterNames.filter((name) => others[name] !== undefined).map((name) => [name, others[name]])
  return [...Object.entries(members), ...parameters]
    .map(([name, value]) => `${encode(String(name))}=${encode(String(value))}`)
    .join('&')
}

/** Percent-encodes a text. Lone surrogates, which cannot be encoded, are replaced. */
function encode(value: string): string {
  return encodeURIComponent(value.toWellFormed())
}
