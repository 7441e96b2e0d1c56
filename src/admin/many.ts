import { ResourceError } from '../client/index.ts'
import {
  type CollectionOf,
  chunksOf,
  type Identifier,
  type Item,
  type ProviderOptions,
  type Values,
} from './collection.ts'

/** Maximum number of ids in a request: the maximum number of values of a filter, `limits.members` of the service. */
const maxIds = 500

/** Writes of several records of a resource. */
export interface ManyWrites {
  readonly create: (resource: string, records: readonly Values[]) => Promise<readonly Item[]>
  /** @returns the records; with bulk writes, only their ids and the changed fields */
  readonly update: (resource: string, ids: readonly Identifier[], values: Values) => Promise<readonly Item[]>
  readonly delete: (resource: string, ids: readonly Identifier[]) => Promise<void>
}

/**
 * Creates the functions for writes of several records. Resources with bulk writes get as few requests as the ids need, the
 * others one request for each record.
 */
export function manyWrites(collectionOf: CollectionOf, { bulk = false }: ProviderOptions): ManyWrites {
  const hasBulk = (resource: string): boolean => (typeof bulk === 'boolean' ? bulk : bulk.includes(resource))
  return {
    create: (resource, records) => {
      const collection = collectionOf(resource)
      return hasBulk(resource) ? collection.createMany(records) : runAll(records, (one) => collection.create(one))
    },
    update: async (resource, ids, values) => {
      const collection = collectionOf(resource)
      if (!hasBulk(resource)) return runAll(ids, (id) => collection.update(id, values))
      await inChunks(ids, (filters) => collection.updateMany(filters, values))
      return ids.map((id) => ({ ...values, id }))
    },
    delete: async (resource, ids) => {
      const collection = collectionOf(resource)
      if (hasBulk(resource)) await inChunks(ids, (filters) => collection.deleteMany(filters))
      else await runAll(ids, (id) => collection.delete(id))
    },
  }
}

/**
 * Runs `work` for all inputs and waits until all have finished, so that a list that is read afterwards shows all changes.
 * @throws the first error
 */
async function runAll<Input, Result>(
  inputs: readonly Input[],
  work: (input: Input) => Promise<Result>,
): Promise<readonly Result[]> {
  const results = await Promise.allSettled(inputs.map(work))
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

/**
 * Sends requests for as many ids as fit into each, one after another. Each request is a transaction of its own.
 * @param write sends a request, and returns the number of records that it has written
 * @throws {ResourceError} of the first request that is refused, after which no other is sent; 404 if some of the records do
 * not exist, and the others were written
 */
async function inChunks(ids: readonly Identifier[], write: (filters: Values) => Promise<number>): Promise<void> {
  const distinct = [...new Set(ids.map(String))]
  let written = 0
  for (const chunk of chunksOf(distinct, maxIds)) written += await write({ id__in: chunk })
  const missing = distinct.length - written
  if (missing > 0) {
    throw new ResourceError(404, undefined, `${missing} of the ${distinct.length} records do not exist`)
  }
}
