import { withComment } from '../statement-comment'

type Query = (text: unknown, ...parameters: unknown[]) => unknown

/** Statements that begin or end a transaction or savepoint. They need no time limit. */
const transactionPattern = /^(?:BEGIN|START TRANSACTION|SAVEPOINT|RELEASE|COMMIT|END|ROLLBACK|ABORT)\b[^;]*;?\s*$/i
/** Statements that end a transaction or roll back to a savepoint, and may thereby undo a setting. */
export const endPattern = /^(?:COMMIT|END|ROLLBACK|ABORT)\b/i
const leadingComments = /^(?:\s|--[^\n]*\n|\/\*.*?\*\/)+/s

/** Milliseconds in the units of SHOW. */
const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Returns a function to call before each statement of a connection. It sets the time limit for statements of this
 * service, and resets it for those of the application. The limit is a setting of the connection (`statement_timeout`),
 * so it is sent only before a statement that needs another limit than the previous statement. The function returns a
 * promise if the statement must wait for its limit; the promise rejects if the limit could not be set, for example
 * because of a cancellation.
 *
 * The limit is read by SHOW and set by SET, because a SELECT would take the snapshot of a transaction with the isolation
 * level REPEATABLE READ. Such a transaction would not see what others have written while it waits for LOCK TABLE.
 */
export function timeLimiter(
  query: Query,
  timeLimit: number,
): (text: unknown, isServiceSql: boolean) => Promise<unknown> | undefined {
  if (timeLimit === Number.POSITIVE_INFINITY) return () => undefined
  /** Whether the time limit is set; undefined if this is unknown. */
  let isLimited: boolean | undefined = false
  /** Undefined until the limit of the connection itself is known, for example that of the role, which may be shorter. */
  let setLimit: string | undefined
  const forgetOnError = (error: unknown): void => {
    if (error) isLimited = undefined
  }
  const send = (sql: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      query(withComment(sql), (error: unknown, result: unknown) => {
        forgetOnError(error)
        if (error) reject(error)
        else resolve(result)
      })
    })
  const learnLimit = async (): Promise<void> => {
    const { rows } = (await send('SHOW statement_timeout')) as {
      readonly rows: readonly [{ statement_timeout: string }]
    }
    setLimit = `SET statement_timeout = ${Math.min(timeLimit, millisecondsOf(rows[0].statement_timeout))}`
    // Unless a statement of the application was sent meanwhile.
    if (isLimited) await send(setLimit)
  }
  return (text, isServiceSql) => {
    const sql = sqlOf(text)
    if (transactionPattern.test(sql)) {
      if (endPattern.test(sql)) isLimited = undefined
      return undefined
    }
    if (isLimited === isServiceSql) return undefined
    isLimited = isServiceSql
    if (isServiceSql) return setLimit === undefined ? learnLimit() : send(setLimit)
    query(withComment('RESET statement_timeout'), forgetOnError)
    return undefined
  }
}

/** A time limit as SHOW returns it, such as `10s`; `0` is no limit. */
function millisecondsOf(text: string): number {
  const unit = text.replace(/^\d+/, '')
  return (Number.parseInt(text, 10) || Number.POSITIVE_INFINITY) * (units[unit] ?? 1)
}

/** The SQL of a query, which is a string or an object with the member `text`, without leading comments. */
export function sqlOf(query: unknown): string {
  const text = typeof query === 'string' ? query : (Object(query) as { readonly text?: unknown }).text
  return String(text ?? '').replace(leadingComments, '')
}
