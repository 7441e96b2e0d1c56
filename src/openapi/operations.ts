import type { DataSource } from 'typeorm'
import type { Rule } from '../access/rule'
import { mediaTypes } from '../request/formats'
import type { Limits } from '../request/limits'
import type { ListFormat } from '../resource'
import type { ResourceView } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import { bulkOperations, createBody, createdRecords, dryRunParameters, dryRunResponse } from './bulk'
import { customPaths } from './custom-actions'
import type { DescribedResource } from './described-resource'
import { withIdempotencyKey } from './idempotency'
import { idParameter, ifMatchParameter, ifNoneMatchParameter } from './item-parameters'
import { listResponseSchema, selectableRecord } from './list-schemas'
import { withEvents } from './live'
import { body, errors, etag, json, jsonContent, operation, stringHeader } from './operation-parts'
import { fieldsParameters, includeParameters, listParameters } from './parameters'
import { type ErrorStatus, errorResponses } from './responses'
import { deletedParameters, restoreOperation } from './restoring'
import { createOf, schemaRef, updateOf } from './schema-names'
import {
  conflictErrors,
  conflictParameters,
  conflictResponse,
  createAtPathResponse,
  createHeader,
  createsAtPath,
} from './upserts'

/** How requests prove who sends them. */
export interface DescribedLogin {
  /** Names of the security schemes. */
  readonly schemes: readonly string[]
  /** Whether failed logins are limited. */
  readonly isLimited: boolean
}

type Writes = DescribedResource['writes']

/** A Path Item Object of OpenAPI. */
export type PathItem = JsonSchema

/**
 * Path items of one resource: its collection and its items. The paths have no trailing slash, which is optional
 * (specification: Paths), because OpenAPI linters report it.
 */
export function resourcePaths(
  { view, writes, routes = [], base = '', isLive = false }: DescribedResource,
  dataSource: DataSource,
  limits: Limits,
  login: DescribedLogin,
): readonly (readonly [string, PathItem])[] {
  const { name, rule } = view
  const [reads, changes] = [securityOf(rule, true, login), securityOf(rule, false, login)]
  const limited = (described: JsonSchema): JsonSchema => (login.isLimited ? withLoginLimit(described) : described)
  const change = (described: JsonSchema): JsonSchema => limited({ ...described, ...changes })
  // The response to the POST of an API key has a secret, which is not stored.
  const keyed = (described: JsonSchema): JsonSchema => withIdempotencyKey(described, dataSource)
  const created = change(createOperation(view, writes, limits))
  const read = (described: JsonSchema): JsonSchema =>
    limited({ ...(isLive ? withEvents(described) : described), ...reads })
  const item = {
    parameters: [idParameter(view)],
    get: read(readOperation(view, writes, limits)),
    ...(writes.has('update') && {
      put: change(putOperation(view, writes, limits)),
      patch: keyed(change({ ...updateOperation(view, limits), operationId: `${name}.patch` })),
    }),
    ...(writes.has('delete') && { delete: change(deleteOperation(view)) }),
  }
  const collection = {
    get: read(listOperation(view, writes, dataSource, limits)),
    ...(writes.has('create') && { post: view.apiKey === undefined ? keyed(created) : created }),
    ...bulkOperations(view, writes, change, dataSource, limits),
  }
  const restoration = { parameters: [idParameter(view)], post: change(restoreOperation(view, limits)) }
  const paths = new Map<string, PathItem>([
    [`/${name}`, collection],
    [`/${name}/{id}`, item],
    ...(writes.has('restore') ? [[`/${name}/{id}/restore`, restoration] as const] : []),
  ])
  const secured = (described: JsonSchema, isRead: boolean): JsonSchema =>
    isRead ? limited({ ...described, ...reads }) : change(described)
  for (const [path, added] of customPaths(view, routes, base, secured)) {
    paths.set(path, { ...paths.get(path), ...added })
  }
  return [...paths]
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

function listOperation(view: ResourceView, writes: Writes, dataSource: DataSource, limits: Limits): JsonSchema {
  const deleted = deletedParameters(writes)
  return operation(view, 'list', `List ${view.name} records`, {
    parameters: [
      ...listParameters(view, dataSource, limits, new Set(deleted.map(({ name }) => name))),
      ...deleted,
      ifNoneMatchParameter,
    ],
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

const newRecordHeaders = { ...etag, Location: stringHeader('Path of the record') }

function createOperation(view: ResourceView, writes: Writes, limits: Limits): JsonSchema {
  return operation(view, 'create', `Create a ${view.name}`, {
    parameters: [...conflictParameters(view, writes), ...includeParameters(view, limits), ...dryRunParameters(view)],
    requestBody: createBody(view, body(createOf(view.name))),
    responses: {
      '201': { ...createdRecords(view, createdRecord(view)), headers: newRecordHeaders },
      ...conflictResponse(view, writes, dryRunResponse(view)),
      ...errors(view, 'write', [400, 403, 409, ...conflictErrors(view, writes), 413, 415]),
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

function readOperation(view: ResourceView, writes: Writes, limits: Limits): JsonSchema {
  const selections = [...fieldsParameters(view), ...includeParameters(view, limits), ...deletedParameters(writes)]
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

/** A PUT can also create the record of its path. */
function putOperation(view: ResourceView, writes: Writes, limits: Limits): JsonSchema {
  const update = updateOperation(view, limits)
  if (!createsAtPath(view, writes)) return update
  const headers = [createHeader, ifMatchParameter(false)]
  return {
    ...update,
    parameters: [...includeParameters(view, limits), ...headers],
    responses: { ...createAtPathResponse(view, newRecordHeaders), ...Object(update['responses']) },
  }
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

const listEtag = { ETag: stringHeader('Weak validator of the page (RFC 9110); missing for more than 1 MiB') }
