/** The error that a promise is rejected with, which must be an instance of this class. */
export async function rejection<Reason extends Error>(
  work: Promise<unknown>,
  errorClass: abstract new (...given: never[]) => Reason,
): Promise<Reason> {
  const error: unknown = await work.then(
    () => undefined,
    (reason) => reason,
  )
  if (error instanceof errorClass) return error
  throw new Error(`not rejected so: ${error}`)
}
