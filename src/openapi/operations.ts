import type { DataSource } from 'typeorm'
import type { Rule } from '../access/rule'
import { mediaTypes } from '../request/formats'
import type { Limits } from '../request/limits'
import type { ListFormat } from '../resource'
import type { ResourceView } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import type { DescribedResource } from './described-resource'
import { idParameter, ifMatchParameter, ifNoneMatchParameter } from './item-parameters'
import { listResponseSchema, selectableRecord } from './list-schemas'
import { fieldsParameters, includeParameters, listParameters } from './parameters'
import { type ErrorStatus, errorResponses } from './responses'
import { createOf, type SchemaName, schemaRef, updateOf } from './schema-names'

/** How requests prove who sends them. */
export interface DescribedLogin {
  /** Names of the security schemes. */
  readonly schemes: readonly string[]
  /** Whether failed logins are limited. */
  readonly isLimited: boolean
}

/** A Path Item Object of OpenAPI. */
export type PathItem = JsonSchema

/**
 * Path items of one resource: its collection and its items. The paths have no trailing slash, which is optional
 * (specification: Paths), because OpenAPI linters report it.
 */
export function resourcePaths(
  { view, writes }: DescribedResource,
  dataSource: DataSource,
  limits: Limits,
  login: DescribedLogin,
): readonly (readonly [string, PathItem])[] {
  const { name, rule } = view
  const [reads, changes] = [securityOf(rule, true, login), securityOf(rule, false, login)]
  const limited = (described: JsonSchema): JsonSchema => (login.isLimited ? withLoginLimit(described) : described)
  const update = limited({ ...updateOperation(view, limits), ...changes })
  const item = {
    parameters: [idParameter(view)],
    get: limited({ ...readOperation(view, limits), ...reads }),
    ...(writes.has('update') && { put: update, patch: { ...update, operationId: `${name}.patch` } }),
    ...(writes.has('delete') && { delete: limited({ ...deleteOperation(view), ...changes }) }),
  }
  const collection = {
    get: limited({ ...listOperation(view, dataSource, limits), ...reads }),
    ...(writes.has('create') && { post: limited({ ...createOperation(view, limits), ...changes }) }),
  }
  return [
    [`/${name}`, collection],
    [`/${name}/{id}`, item],
  ]
}

/** Adds the response to a login after too many failed ones, if the operation can respond with 401. */
function withLoginLimit(described: JsonSchema): JsonSchema {
  const responses = Object(described['responses'])
  return '401' in responses ? { ...described, responses: { ...responses, ...errorResponses([429]) } } : described
}

/** All statuses that the operations of these path items may respond with. */
export function statusesIn(items: readonly PathItem[]): ReadonlySet<string> {
  const operations = items.flatMap((item) => Object.values(item) as readonly JsonSchema[])
  return new Set(operations.flatMap(({ responses }) => Object.keys(Object(responses))))
}

function listOperation(view: ResourceView, dataSource: DataSource, limits: Limits): JsonSchema {
  return operation(view, 'list', `List ${view.name} records`, {
    parameters: [...listParameters(view, dataSource, limits), ifNoneMatchParameter],
    responses: {
      '200': { ...pageResponse(view), headers: listEtag },
      '304': { description: 'The page still has the ETag of If-None-Match' },
      ...errors(view, 'read', [400, ...forbidden(view, limits), 500]),
    },
  })
}

/** The response to a list request: a page, or all records in another format. */
function pageResponse(view: ResourceView): JsonSchema {
  const streamed = view.formats.map((format) => [mediaTypes[format], streamedContent[format](view)])
  return {
    description: view.optionalParameters.has('aggregate') ? 'A page of records, or of groups' : 'A page of records',
    content: { 'application/json': { schema: listResponseSchema(view) }, ...Object.fromEntries(streamed) },
  }
}

/** Media Type Objects of the formats of all records. */
const streamedContent: Readonly<Record<ListFormat, (view: ResourceView) => JsonSchema>> = {
  csv: ({ outputFields }) => ({
    schema: {
      type: 'string',
      description: `RFC 4180. The first row has the names of the fields: ${outputFields.map(({ name }) => name).join(', ')}.`,
    },
  }),
  ndjson: (view) => ({
    schema: { type: 'string', description: 'A record in each line.' },
    // OpenAPI 3.2 calls it `itemSchema`.
    'x-itemSchema': selectableRecord(view),
  }),
}

function createOperation(view: ResourceView, limits: Limits): JsonSchema {
  const headers = { ...etag, Location: stringHeader('Path of the record') }
  return operation(view, 'create', `Create a ${view.name}`, {
    parameters: includeParameters(view, limits),
    requestBody: body(createOf(view.name)),
    responses: {
      '201': { ...createdRecord(view), headers },
      ...errors(view, 'write', [400, 403, 409, 413, 415]),
    },
  })
}

/** The response to a POST. That of an API key is the only one that shows the key. */
function createdRecord({ name, apiKey }: ResourceView): JsonSchema {
  if (apiKey === undefined) return json('The record that was created', name)
  const key = { type: 'string', description: 'The API key. It is shown once.' }
  const schema = { allOf: [schemaRef(name), { type: 'object', properties: { key }, required: ['key'] }] }
  return jsonContent('The record that was created, and its API key', schema)
}

function readOperation(view: ResourceView, limits: Limits): JsonSchema {
  const selections = [...fieldsParameters(view), ...includeParameters(view, limits)]
  return operation(view, 'read', `Read a ${view.name}`, {
    parameters: [...selections, ifNoneMatchParameter, ifMatchParameter(false)],
    responses: {
      '200': { ...jsonContent('The record', selectableRecord(view)), headers: etag },
      '304': { description: 'The record still has the ETag of If-None-Match' },
      ...errors(view, 'read', [
        ...(selections.length > 0 ? [400 as const] : []),
        ...forbidden(view, limits),
        404,
        412,
        500,
      ]),
    },
  })
}

/** An included resource may be one that the principal may not read. */
function forbidden(view: ResourceView, limits: Limits): readonly ErrorStatus[] {
  return includeParameters(view, limits).length > 0 ? [403] : []
}

function updateOperation(view: ResourceView, limits: Limits): JsonSchema {
  return operation(view, 'update', `Change a ${view.name}`, {
    description: 'Only the fields in the body are changed.',
    parameters: [...includeParameters(view, limits), ifMatchParameter(view.requireIfMatch)],
    requestBody: body(updateOf(view.name)),
    responses: {
      '200': { ...json('The whole record after the change', view.name), headers: etag },
      ...errors(view, 'write', [400, 403, 404, 409, 412, 413, 415, ...required(view)]),
    },
  })
}

function deleteOperation(view: ResourceView): JsonSchema {
  return operation(view, 'delete', `Delete a ${view.name}`, {
    parameters: [ifMatchParameter(view.requireIfMatch)],
    responses: {
      '204': { description: 'The record is deleted' },
      ...errors(view, 'write', [403, 404, 409, 412, ...required(view)]),
    },
  })
}

const required = ({ requireIfMatch }: ResourceView): readonly ErrorStatus[] => (requireIfMatch ? [428] : [])

function operation({ name }: ResourceView, id: string, summary: string, rest: JsonSchema): JsonSchema {
  return {
    operationId: `${name}.${id}`,
    summary,
    tags: [name],
    ...rest,
  }
}

/**
 * Members of an operation that say which credentials it needs: one of the schemes. Credentials are optional for a rule of
 * the application that does not declare what it needs.
 */
function securityOf({ read, needs }: Rule, reads: boolean, { schemes }: DescribedLogin): JsonSchema {
  if (reads && read === 'public') return { security: [] }
  const requirements = schemes.map((name): JsonSchema => ({ [name]: [] }))
  return {
    security: needs === undefined ? [{}, ...requirements] : requirements,
    ...(needs === 'admins' && { 'x-needs': 'admins' }),
  }
}

/** Error responses of an operation. 401 is added unless the rule makes it public, and 503 always. */
function errors({ rule }: ResourceView, access: 'read' | 'write', statuses: readonly ErrorStatus[]): JsonSchema {
  const isPublic = access === 'read' && rule.read === 'public'
  return errorResponses([...statuses, ...(isPublic ? [] : [401 as const]), 503])
}

const listEtag = { ETag: stringHeader('Weak validator of the page (RFC 9110); missing for more than 1 MiB') }
const etag = { ETag: stringHeader('Strong validator of the record (RFC 9110)') }

function stringHeader(description: string): JsonSchema {
  return { description, schema: { type: 'string' } }
}

function json(description: string, name: SchemaName): JsonSchema {
  return jsonContent(description, schemaRef(name))
}

function jsonContent(description: string, schema: JsonSchema): JsonSchema {
  return { description, content: { 'application/json': { schema } } }
}

/** Request body: JSON, or a form with the JSON in its field `data` (specification: Bodies). */
function body(name: string): JsonSchema {
  const data = { type: 'string', contentMediaType: 'application/json', contentSchema: schemaRef(name) }
  const form = { schema: { type: 'object', properties: { data }, required: ['data'] } }
  return {
    required: true,
    content: {
      'application/json': { schema: schemaRef(name) },
      'application/x-www-form-urlencoded': form,
      'multipart/form-data': form,
    },
  }
}
