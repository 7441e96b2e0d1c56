import { ResourceError } from '../client/index.ts'

/**
 * Returns a function that turns a rejection with a `ResourceError` into an error of another class, which react-admin or
 * Refine expects. Results and other errors are passed through.
 */
export function translateTo(
  HttpError: new (refusal: ResourceError) => Error,
): <Result>(result: Promise<Result>) => Promise<Result> {
  return (result) =>
    result.catch((error: unknown) => {
      throw error instanceof ResourceError ? new HttpError(error) : error
    })
}

/** Error message for users. For a 401 it replaces the message of the service, which does not tell users what to do. */
export function messageOf({ status, message }: ResourceError): string {
  return status === 401 ? 'Only some users may do this: sign in as one of them' : message
}

/** Error messages by the names of their fields: the first one of each field. */
export function fieldErrorsOf({ errors }: ResourceError): Readonly<Record<string, string>> {
  return Object.fromEntries(errors.toReversed().map(({ field, message }) => [field, message]))
}
