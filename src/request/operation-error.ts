import { ApiError, RequestError } from '../errors'
import { problemOf } from '../problem'

/** A refusal of one operation of a batch, with the index of the operation in the batch. */
export class OperationError extends RequestError {
  override readonly name = 'OperationError'
  constructor(
    readonly index: number,
    readonly refusal: Error,
  ) {
    super(refusal.message)
  }
}

/**
 * Adds the index of an operation to an error, if the error is a refusal. Other errors are returned unchanged: those of the
 * database may let the whole batch run again, and faults are reported as they are.
 */
export function errorOfOperation(index: number, error: unknown): unknown {
  return error instanceof ApiError || problemOf(error) !== undefined ? new OperationError(index, error as Error) : error
}
