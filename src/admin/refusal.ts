import { ResourceError } from '../client/index.ts'

/**
 * Returns a function that converts a `ResourceError` into the error class of the library. Other results and errors are
 * passed through.
 */
export function translateTo(
  HttpError: new (refusal: ResourceError) => Error,
): <Result>(result: Promise<Result>) => Promise<Result> {
  return (result) =>
    result.catch((error: unknown) => {
      throw error instanceof ResourceError ? new HttpError(error) : error
    })
}

/** Error message for users. The body of a 401 is the same for every refusal and does not help them. */
export function messageOf({ status, message }: ResourceError): string {
  return status === 401 ? 'Only some users may do this: sign in as one of them' : message
}

/** Error message of each field by its name. If a field has several, it is the first one. */
export function fieldErrorsOf({ errors }: ResourceError): Readonly<Record<string, string>> {
  return Object.fromEntries(errors.toReversed().map(({ field, message }) => [field, message]))
}
