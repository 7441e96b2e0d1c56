import { ResourceError } from '../client/index.ts'

/** What passes an answer on, and a refusal as an error of the library's class. */
export function translateTo(
  HttpError: new (refusal: ResourceError) => Error,
): <Answer>(answer: Promise<Answer>) => Promise<Answer> {
  return (answer) =>
    answer.catch((error: unknown) => {
      throw error instanceof ResourceError ? new HttpError(error) : error
    })
}

/** What is wrong, for people: the service's text of a 401 is for programs. */
export function messageOf({ status, message }: ResourceError): string {
  return status === 401 ? 'Only some users may do this: sign in as one of them' : message
}

/** What is wrong with each field, by its name; the first where it is more. */
export function fieldErrorsOf({ errors }: ResourceError): Readonly<Record<string, string>> {
  return Object.fromEntries(errors.toReversed().map(({ field, message }) => [field, message]))
}
