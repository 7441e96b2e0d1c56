import type { RequestAuthentication } from '../access/request-authentication'
import type { DbSession } from '../connection/db-session'
import { pause } from '../connection/pauses'
import { FieldErrors } from '../errors'
import type { Operation } from '../request/batch'
import { errorOfOperation } from '../request/operation-error'
import { passwordsIn, withPasswordsHashed } from './body-passwords'
import { parseMatching } from './change-many'
import { type AdmittedRequest, admit } from './handle'
import { checkPasswordCount } from './hash-passwords'
import { type AddIncludes, prepareWriteIncludes, withoutIncludes } from './included-item'
import { callRelatedRules } from './related-rules'
import type { PermittedRequest, ResourceRequest, Service } from './service'

/** An operation of a batch, as a request on the resource of its path. */
export interface RequestedOperation {
  readonly operation: Operation
  readonly request: ResourceRequest
}

/** Operation of a batch whose access rule has permitted it. */
export interface AdmittedOperation extends AdmittedRequest {
  readonly operation: Operation
  /** Adds the included records to its response, after the commit. */
  readonly including: AddIncludes
}

/**
 * Calls the access rules of all operations of a batch, and those of the resources to which they refer. Access rules may run
 * statements of their own, so they are called before the transaction begins: these statements would wait for its end, or
 * for one more connection.
 * @param authentication authentication of the batch, which verifies the credentials once for all operations
 * @throws {OperationError} for the first operation that is refused
 */
export async function admitBatch(
  service: Service,
  authentication: RequestAuthentication<DbSession>,
  requested: readonly RequestedOperation[],
): Promise<readonly AdmittedOperation[]> {
  const checked: AdmittedOperation[] = []
  let passwords = 0
  for (const [index, { operation, request }] of requested.entries()) {
    try {
      const admitted = await admit(service, request, authentication.forOperation(request.context))
      passwords += checkPasswords(admitted.request, operation, passwords)
      const including = await checkRelated(service, admitted.request, operation)
      checked.push({ ...admitted, operation, including })
      await pause(authentication.session)
    } catch (error) {
      throw errorOfOperation(index, error)
    }
  }
  // After all checks: no password is hashed for a batch that they refuse.
  const operations: AdmittedOperation[] = []
  for (const [index, admitted] of checked.entries()) {
    const bodies = [admitted.operation.body].flat().map((body) => ({ body }))
    try {
      operations.push({ ...admitted, request: await withPasswordsHashed(service, admitted.request, () => bodies) })
    } catch (error) {
      throw errorOfOperation(index, error)
    }
  }
  return operations
}

/**
 * Checks the passwords in a batch, also those of related records. Their number is limited, because each takes tens of milliseconds to
 * be hashed.
 * @param previous number of passwords of the operations before this one
 * @returns the number of passwords of this operation
 * @throws {ApiError} `bad-values`
 */
function checkPasswords({ store }: PermittedRequest, { body }: Operation, previous: number): number {
  const passwords = [body].flat().flatMap((one) => passwordsIn(store.view, one))
  const errors = new FieldErrors()
  checkPasswordCount(passwords, previous, errors)
  // The value of a reference is known only in the transaction, in which no password should be hashed.
  for (const { path, value } of passwords) {
    if (typeof value === 'object' && value !== null) errors.add(path, 'must be a text; a reference is not possible')
  }
  errors.raise('bad-values')
  return passwords.length
}

/**
 * Calls the access rules of the resources to which filters, members of the body and includes refer.
 * @throws {ApiError} `bad-query`, `forbidden`
 */
async function checkRelated(
  service: Service,
  request: PermittedRequest,
  { method, body }: Operation,
): Promise<AddIncludes> {
  await callRelatedRules(request, Array.isArray(body) ? body : [body])
  if (request.segment === undefined && method !== 'POST') {
    await parseMatching(service, request)
    return withoutIncludes
  }
  return method === 'DELETE' ? withoutIncludes : prepareWriteIncludes(service, request)
}
