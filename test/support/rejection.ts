/** The error with which a promise is rejected. @throws {Error} if it is not an instance of this class */
export async function rejection<Reason extends Error>(
  work: Promise<unknown>,
  errorClass: abstract new (...given: never[]) => Reason,
): Promise<Reason> {
  const error: unknown = await work.then(
    () => undefined,
    (reason) => reason,
  )
  if (error instanceof errorClass) return error
  throw new Error(`expected a rejection with ${errorClass.name}, but got ${error}`)
}
