import { conflictFieldsOf, fieldsOf, namesOf } from '../query/conflict-fields'
import type { ResourceView, WriteAction } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import { header } from './item-parameters'
import { etag, json, jsonContent } from './operation-parts'
import { type Parameter, query } from './parameters'
import type { ErrorStatus } from './responses'
import { schemaRef } from './schema-names'

type Writes = ReadonlySet<WriteAction>

/** Values of the parameter `on_conflict`; none if a POST cannot update records (specification: Upserts). */
function conflictNames(view: ResourceView, writes: Writes): readonly string[] {
  return writes.has('update') ? conflictFieldsOf(view).map((fields) => namesOf(fields).join()) : []
}

/** The parameter `on_conflict` of a POST. */
export function conflictParameters(view: ResourceView, writes: Writes): readonly Parameter[] {
  const names = conflictNames(view, writes)
  if (names.length === 0) return []
  const description = 'Fields of a unique constraint. A record with the same values is changed, instead of creating one'
  return [query('on_conflict', description, { schema: { type: 'string', enum: [...names] } })]
}

/** Further error statuses of a POST: those of a record that is changed. */
export function conflictErrors(view: ResourceView, writes: Writes): readonly ErrorStatus[] {
  if (conflictNames(view, writes).length === 0) return []
  return [412, ...(view.requireIfMatch ? [428 as const] : [])]
}

/**
 * The response 200 to a POST, with `on_conflict`.
 * @param dryRun the response that only checks several records
 */
export function conflictResponse(view: ResourceView, writes: Writes, dryRun: JsonSchema): JsonSchema {
  if (conflictNames(view, writes).length === 0) return dryRun
  if (view.bulk === 0) {
    return { '200': { ...json('The record that was changed, with on_conflict', view.name), headers: etag } }
  }
  const description =
    'With on_conflict the record that was changed, or the numbers and ids of several records; with dry_run their numbers'
  return { '200': jsonContent(description, { anyOf: [schemaRef(view.name), upsertedSchema(view)] }) }
}

function upsertedSchema({ name: model, key }: ResourceView): JsonSchema {
  const count = { type: 'integer', minimum: 0 }
  const { examples, ...id } = key.valueType.schema
  const meta = {
    type: 'object',
    properties: {
      model: { type: 'string', const: model },
      created: count,
      updated: count,
      dry_run: { type: 'boolean', const: true },
    },
    required: ['model', 'created'],
  }
  const objects = { type: 'array', items: { type: 'object', properties: { id }, required: ['id'] } }
  return { type: 'object', properties: { meta, objects }, required: ['meta'] }
}

/** Whether a PUT with `If-None-Match: *` can create the record of its path. */
export function createsAtPath(view: ResourceView, writes: Writes): boolean {
  const fields = fieldsOf(view, view.metadata.primaryColumns)
  return writes.has('create') && fields?.every(({ insertable }) => insertable) === true
}

/** The header of a PUT that creates a record. */
export const createHeader = header('If-None-Match', 'With `*`, the record is created, if there is none', false)

/** The response 201 to a PUT. @param headers headers of a response with a new record */
export function createAtPathResponse({ name }: ResourceView, headers: JsonSchema): JsonSchema {
  return { '201': { ...json('The record that was created, with If-None-Match: *', name), headers } }
}
