import { inspect } from 'node:util'

/** The members of a Koa application with which errors are reported. */
export interface ErrorApp {
  listenerCount(event: 'error'): number
  emit(event: 'error', ...values: unknown[]): boolean
  /** Prints an error to stderr, unless the application is `silent`: Koa's own listener. */
  onerror(error: Error): void
}

/**
 * Emits Koa's `error` event, or prints the error as Koa does if the application has no listener. Never throws: a write whose
 * error is reported may be committed, and outside of requests an exception would end the process.
 * @param error a value that is not an `Error` is wrapped into one
 * @param context Koa's context; undefined outside of requests
 * @returns the error as it was emitted
 */
export function emitError(app: ErrorApp, error: unknown, context?: unknown): Error {
  const emitted = toError(error)
  try {
    // Without a listener `emit` throws the error. Koa adds its own listener only in `callback()`, which is not called for an
    // application inside of `koa-mount`.
    if (app.listenerCount('error') > 0) app.emit('error', emitted, context)
    else print(app, emitted)
  } catch (listenerError) {
    print(app, emitted)
    print(app, toError(listenerError))
  }
  return emitted
}

function toError(value: unknown): Error {
  // `instanceof` does not recognise errors of other realms, such as those of `node:vm`, and `isNativeError` does not recognise
  // those of better-sqlite3 there. All of them have a stack.
  if (value instanceof Error || typeof Object(value).stack === 'string') return value as Error
  const shown = inspect(value, { depth: 1, customInspect: false })
  return new Error(`the application threw a value that is not an Error: ${shown}`, { cause: value })
}

function print(app: ErrorApp, error: Error): void {
  try {
    app.onerror(error)
  } catch (printError) {
    console.error(error, printError)
  }
}
