import type { DataSource } from 'typeorm'
import { mediaTypes } from '../request/formats'
import type { Limits } from '../request/limits'
import type { ResourceView, WriteAction } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import { withIdempotencyKey } from './idempotency'
import { body, errors, jsonContent, operation } from './operation-parts'
import { matchingParameters, type Parameter, query } from './parameters'
import { createOf, schemaRef, updateOf } from './schema-names'

/** Operations that write all records of a collection that match filters (specification: Bulk writes). */
export function bulkOperations(
  view: ResourceView,
  writes: ReadonlySet<WriteAction>,
  finish: (described: JsonSchema) => JsonSchema,
  dataSource: DataSource,
  limits: Limits,
): JsonSchema {
  const { name, bulk, requireIfMatch } = view
  if (bulk === 0 || requireIfMatch) return {}
  const description = 'At least one filter is needed. If one of the records may not be written, none is.'
  // A field with this name makes the parameter ambiguous.
  const parameters = [...matchingParameters(view, limits), ...(view.fields.has('max') ? [] : [maxParameter(view)])]
  const patch = operation(view, 'updateMany', `Change all ${name} records that match`, {
    description,
    parameters,
    requestBody: body(updateOf(name)),
    responses: {
      '200': jsonContent('The number of changed records', countSchema(view, 'updated')),
      ...errors(view, 'write', [400, 403, 409, 413, 415]),
    },
  })
  const remove = operation(view, 'deleteMany', `Delete all ${name} records that match`, {
    description,
    parameters,
    responses: {
      '200': jsonContent('The number of deleted records', countSchema(view, 'deleted')),
      ...errors(view, 'write', [400, 403, 409]),
    },
  })
  return {
    ...(writes.has('update') && { patch: withIdempotencyKey(finish(patch), dataSource) }),
    ...(writes.has('delete') && { delete: finish(remove) }),
  }
}

function maxParameter({ bulk }: ResourceView): Parameter {
  return query('max', 'Maximum number of records that may match. If there are more, nothing is written', {
    schema: { type: 'integer', minimum: 1, maximum: bulk, default: bulk },
  })
}

/** The parameter of a POST of several records. */
export function dryRunParameters({ bulk }: ResourceView): readonly Parameter[] {
  if (bulk === 0) return []
  return [
    query('dry_run', 'Checks several records, and stores none of them', {
      schema: { type: 'boolean', default: false },
    }),
  ]
}

/** The body of a POST: one record, or several with the option `bulk`. */
export function createBody({ name, bulk }: ResourceView, single: JsonSchema): JsonSchema {
  if (bulk === 0) return single
  const record = schemaRef(createOf(name))
  const many = { type: 'array', items: record, maxItems: bulk }
  return {
    ...single,
    content: {
      ...Object(single['content']),
      'application/json': { schema: { anyOf: [record, many] } },
      // OpenAPI 3.2 calls it `itemSchema`.
      [mediaTypes.ndjson]: {
        schema: { type: 'string', description: 'A record in each line.' },
        'x-itemSchema': record,
      },
      [mediaTypes.csv]: {
        schema: { type: 'string', description: 'RFC 4180. The first row has the names of fields.' },
      },
    },
  }
}

/** The response to a POST: the record, or the records of an array, or the number of records of a file. */
export function createdRecords(view: ResourceView, single: JsonSchema): JsonSchema {
  if (view.bulk === 0) return single
  return jsonContent('The record, or the records of an array; for a file, the number of its records', {
    anyOf: [schemaRef(view.name), createdSchema(view, {})],
  })
}

/** The response to a POST that only checks. */
export function dryRunResponse(view: ResourceView): JsonSchema {
  if (view.bulk === 0) return {}
  const dryRun = { dry_run: { type: 'boolean', const: true } }
  return { '200': jsonContent('The number of checked records, with dry_run', createdSchema(view, dryRun)) }
}

function createdSchema(view: ResourceView, members: JsonSchema): JsonSchema {
  const { properties, ...schema } = countSchema(view, 'created', members)
  return { ...schema, properties: { ...Object(properties), objects: { type: 'array', items: schemaRef(view.name) } } }
}

function countSchema(
  { name: model }: ResourceView,
  count: 'created' | 'updated' | 'deleted',
  members: JsonSchema = {},
): JsonSchema {
  const properties = { model: { type: 'string', const: model }, [count]: { type: 'integer', minimum: 0 }, ...members }
  return {
    type: 'object',
    properties: { meta: { type: 'object', properties, required: ['model', count, ...Object.keys(members)] } },
    required: ['meta'],
  }
}
