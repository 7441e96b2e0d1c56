import { ApiError } from '../errors'
import type { Inclusion } from '../query/query'
import type { PermittedRequest } from './service'

/**
 * Requires that the access rules of all included resources permit the principal to read them.
 * @throws {ApiError} `forbidden`
 */
export async function requireIncludable({ mayRead }: PermittedRequest, { resources }: Inclusion): Promise<void> {
  for (const name of resources) {
    if (!(await mayRead(name))) throw new ApiError('forbidden', `you may not read ${name}, which "include" adds`)
  }
}
