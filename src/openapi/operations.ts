import { basicScheme } from '../access/authenticator'
import type { Rule } from '../access/rule'
import type { Limits } from '../request/limits'
import type { ResourceView } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import type { DescribedResource } from './described-resource'
import { idParameter, ifMatchParameter, ifNoneMatchParameter } from './item-parameters'
import { listParameters } from './parameters'
import { type ErrorStatus, errorResponses } from './responses'
import { createOf, listOf, schemaRef, updateOf } from './schemas'

/** A Path Item Object of OpenAPI. */
export type PathItem = JsonSchema

/**
 * Path items of one resource: its collection and its items. The paths have no trailing slash, which is optional
 * (specification: Paths), because OpenAPI linters report it.
 */
export function resourcePaths(
  { view, writes }: DescribedResource,
  limits: Limits,
): readonly (readonly [string, PathItem])[] {
  const { name } = view
  const update = updateOperation(view)
  const item = {
    parameters: [idParameter(view)],
    get: readOperation(view),
    ...(writes.has('update') && { put: update, patch: { ...update, operationId: `${name}.patch` } }),
    ...(writes.has('delete') && { delete: deleteOperation(view) }),
  }
  return [
    [`/${name}`, { get: listOperation(view, limits), ...(writes.has('create') && { post: createOperation(view) }) }],
    [`/${name}/{id}`, item],
  ]
}

/** All statuses that the operations of these path items may respond with. */
export function statusesIn(items: readonly PathItem[]): ReadonlySet<string> {
  const operations = items.flatMap((item) => Object.values(item) as readonly JsonSchema[])
  return new Set(operations.flatMap(({ responses }) => Object.keys(Object(responses))))
}

function listOperation(view: ResourceView, limits: Limits): JsonSchema {
  return operation(view, 'list', `List ${view.name} records`, {
    parameters: listParameters(view, limits),
    responses: { '200': json('A page of records', listOf(view.name)), ...errors(view, 'read', [400, 500]) },
  })
}

function createOperation(view: ResourceView): JsonSchema {
  const headers = { ...etag, Location: stringHeader('Path of the record') }
  return operation(view, 'create', `Create a ${view.name}`, {
    requestBody: body(createOf(view.name)),
    responses: {
      '201': { ...json('The record that was created', view.name), headers },
      ...errors(view, 'write', [400, 403, 409, 413, 415]),
    },
  })
}

function readOperation(view: ResourceView): JsonSchema {
  return operation(view, 'read', `Read a ${view.name}`, {
    parameters: [ifNoneMatchParameter, ifMatchParameter(false)],
    responses: {
      '200': { ...json('The record', view.name), headers: etag },
      '304': { description: 'The record still has the ETag of If-None-Match' },
      ...errors(view, 'read', [404, 412, 500]),
    },
  })
}

function updateOperation(view: ResourceView): JsonSchema {
  return operation(view, 'update', `Change a ${view.name}`, {
    description: 'Only the fields in the body are changed.',
    parameters: [ifMatchParameter(view.requireIfMatch)],
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

function operation({ name, rule }: ResourceView, id: string, summary: string, rest: JsonSchema): JsonSchema {
  const isReadMethod = id === 'list' || id === 'read'
  const security = securityOf(rule, isReadMethod)
  const isForAdmins = rule.needs === 'admins' && security.length > 0
  return {
    operationId: `${name}.${id}`,
    summary,
    tags: [name],
    security,
    ...(isForAdmins && { 'x-needs': 'admins' }),
    ...rest,
  }
}

const basic: JsonSchema = { [basicScheme.name]: [] }

/**
 * Security Requirement Objects. Credentials are optional for a rule of the application that does not declare what it
 * needs.
 */
function securityOf(rule: Rule, isReadMethod: boolean): readonly JsonSchema[] {
  if (isReadMethod && rule.read === 'public') return []
  return rule.needs === undefined ? [{}, basic] : [basic]
}

/** Error responses of an operation. 401 is added unless the rule makes it public, and 503 always. */
function errors({ rule }: ResourceView, access: 'read' | 'write', statuses: readonly ErrorStatus[]): JsonSchema {
  const isPublic = access === 'read' && rule.read === 'public'
  return errorResponses([...statuses, ...(isPublic ? [] : [401 as const]), 503])
}

const etag = { ETag: stringHeader('Strong validator of the record (RFC 9110)') }

function stringHeader(description: string): JsonSchema {
  return { description, schema: { type: 'string' } }
}

function json(description: string, schema: string): JsonSchema {
  return { description, content: { 'application/json': { schema: schemaRef(schema) } } }
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
