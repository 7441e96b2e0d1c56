type Query = (text: unknown, ...others: unknown[]) => unknown

/** Statements that begin or end a transaction, which need no time limit; those that end one may also undo a setting. */
const ofTransaction = /^(?:BEGIN|START TRANSACTION|SAVEPOINT|RELEASE|COMMIT|END|ROLLBACK|ABORT)\b[^;]*;?\s*$/i
const undoes = /^(?:COMMIT|END|ROLLBACK|ABORT)\b/i
const comments = /^(?:\s|--[^\n]*\n|\/\*.*?\*\/)+/s

/** Sets the time limit, unless a shorter one is set already, as for the role. */
const setLimit = `SELECT set_config('statement_timeout', $1, false) FROM pg_settings
  WHERE name = 'statement_timeout' AND (setting::int = 0 OR setting::int > $1::int)`

/**
 * Gives statements of this service a time limit, and the application's own on the same connection what they had before. PostgreSQL knows it
 * as a setting of the connection: it is sent before a statement that needs another one than the statement before.
 * @returns a promise where the statement must wait for its limit; it rejects where the limit could not be set, as after a cancellation
 */
export function timeLimiter(
  query: Query,
  timeLimit: number,
): (text: unknown, isOwn: boolean) => Promise<unknown> | undefined {
  if (timeLimit === Number.POSITIVE_INFINITY) return () => undefined
  let isLimited: boolean | undefined = false
  const unknownOnError = (error: unknown): void => {
    if (error) isLimited = undefined
  }
  const limit = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      query({ text: setLimit, values: [String(timeLimit)] }, (error: unknown) => {
        unknownOnError(error)
        if (error) reject(error)
        else resolve(undefined)
      })
    })
  return (given, isOwn) => {
    const text = textOf(given)
    if (ofTransaction.test(text)) {
      if (undoes.test(text)) isLimited = undefined
      return undefined
    }
    if (isLimited === isOwn) return undefined
    isLimited = isOwn
    if (isOwn) return limit()
    query('RESET statement_timeout', unknownOnError)
    return undefined
  }
}

/** The text of what pg is asked to run, without the comments before it. */
function textOf(given: unknown): string {
  const text = typeof given === 'string' ? given : (Object(given) as { readonly text?: unknown }).text
  return String(text ?? '').replace(comments, '')
}
