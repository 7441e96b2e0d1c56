import { ApiError } from '../errors'
import { includedResources } from '../query/parse-inclusion'
import type { Inclusion } from '../query/query'
import type { PermittedRequest } from './service'

/**
 * Requires that the access rules of all included resources permit the principal to read them.
 * @throws {ApiError} `forbidden`
 */
export async function requireIncludable({ mayRead }: PermittedRequest, inclusion: Inclusion): Promise<void> {
  for (const name of includedResources(inclusion)) {
    if (!(await mayRead(name))) throw new ApiError('forbidden', `you may not read ${name}, which "include" adds`)
  }
}
