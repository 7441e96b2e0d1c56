import type { Limits } from '../request/limits'
import { deletedRecords } from '../request/list-request'
import type { ResourceView, WriteAction } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import { ifMatchParameter } from './item-parameters'
import { errors, etag, json, operation } from './operation-parts'
import { includeParameters, type Parameter, query } from './parameters'

/** The parameter `deleted` of lists and items, for readers who may restore records (specification: Restoring records). */
export function deletedParameters(writes: ReadonlySet<WriteAction>): readonly Parameter[] {
  if (!writes.has('restore')) return []
  const description = 'Soft-deleted records that can be restored: `only` these, or these `with` the other records'
  return [query('deleted', description, { schema: { type: 'string', enum: [...deletedRecords] } })]
}

/** The operation that restores a soft-deleted record. */
export function restoreOperation(view: ResourceView, limits: Limits): JsonSchema {
  return operation(view, 'restore', `Restore a deleted ${view.name}`, {
    parameters: [...includeParameters(view, limits), ifMatchParameter(false)],
    responses: {
      '200': { ...json('The record that was restored', view.name), headers: etag },
      ...errors(view, 'write', [400, 403, 404, 409, 412]),
    },
  })
}
