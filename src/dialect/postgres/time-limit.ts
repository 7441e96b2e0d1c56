type Query = (text: unknown, ...parameters: unknown[]) => unknown

/** Statements that begin or end a transaction or savepoint. They need no time limit. */
const transactionPattern = /^(?:BEGIN|START TRANSACTION|SAVEPOINT|RELEASE|COMMIT|END|ROLLBACK|ABORT)\b[^;]*;?\s*$/i
/** Statements that end a transaction or roll back to a savepoint, and may thereby undo a setting. */
const endPattern = /^(?:COMMIT|END|ROLLBACK|ABORT)\b/i
const leadingComments = /^(?:\s|--[^\n]*\n|\/\*.*?\*\/)+/s

/** Sets the time limit, unless a shorter one is already set, for example for the role. */
const setLimit = `SELECT set_config('statement_timeout', $1, false) FROM pg_settings
  WHERE name = 'statement_timeout' AND (setting::int = 0 OR setting::int > $1::int)`

/**
 * Returns a function to call before each statement of a connection. It sets the time limit for statements of this
 * service, and resets it for those of the application. The limit is a setting of the connection (`statement_timeout`),
 * so it is sent only before a statement that needs another limit than the previous statement. The function returns a
 * promise if the statement must wait for its limit; the promise rejects if the limit could not be set, for example
 * because of a cancellation.
 */
export function timeLimiter(
  query: Query,
  timeLimit: number,
): (text: unknown, isOwn: boolean) => Promise<unknown> | undefined {
  if (timeLimit === Number.POSITIVE_INFINITY) return () => undefined
  /** Whether the time limit is set; undefined if this is unknown. */
  let isLimited: boolean | undefined = false
  const forgetOnError = (error: unknown): void => {
    if (error) isLimited = undefined
  }
  const sendLimit = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      query({ text: setLimit, values: [String(timeLimit)] }, (error: unknown) => {
        forgetOnError(error)
        if (error) reject(error)
        else resolve(undefined)
      })
    })
  return (text, isOwn) => {
    const sql = sqlOf(text)
    if (transactionPattern.test(sql)) {
      if (endPattern.test(sql)) isLimited = undefined
      return undefined
    }
    if (isLimited === isOwn) return undefined
    isLimited = isOwn
    if (isOwn) return sendLimit()
    query('RESET statement_timeout', forgetOnError)
    return undefined
  }
}

/** The SQL of a query, which is a string or an object with the member `text`, without leading comments. */
function sqlOf(query: unknown): string {
  const text = typeof query === 'string' ? query : (Object(query) as { readonly text?: unknown }).text
  return String(text ?? '').replace(leadingComments, '')
}
