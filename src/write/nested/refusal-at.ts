import { ApiError, FieldErrors } from '../../errors'
import { problemAt } from '../../problem'

/**
 * Adds the path of a related record to a refusal, and to the fields of its errors. Returns other errors unchanged.
 * @param path path in the body: `lines[1]`; empty for the record of the request
 */
export function refusalAt(error: unknown, path: string): unknown {
  if (path === '') return error
  const record = new FieldErrors().within(path)
  if (!(error instanceof ApiError)) return problemAt(error, record)
  const { code, message, details } = error
  const { errors = [] } = details
  const located = errors.length === 0 ? [{ field: path, message }] : record.locate(errors)
  return new ApiError(code, `${path}: ${message}`, { ...details, errors: located })
}
