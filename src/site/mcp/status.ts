import { ApiError, refusals } from '../../errors'
import { problemOf } from '../../problem'

/** Status of the response to a refusal; undefined for a fault. */
export function statusOf(error: unknown): number | undefined {
  if (error instanceof ApiError) return refusals[error.code].status
  return problemOf(error)?.status ?? (isExposed(error) ? error.status : undefined)
}

/** Whether an error is one of `context.throw(403)`, whose message Koa shows to clients. */
export function isExposed(error: unknown): error is Error & { readonly status: number } {
  return error instanceof Error && 'expose' in error && error.expose === true && 'status' in error
}
