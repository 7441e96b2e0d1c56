import type { PoolClient } from './connection'

/**
 * Formats that pg and this service read and write. A role, a database or `extra.options` may set others: pg would read
 * date-times as null, nulls in arrays would be stored as texts, and floats would lose digits, so that a cursor would
 * point before its own record. The settings
 * are changed by one SELECT instead of SET statements; poolers that share connections between clients track these
 * changes too.
 */
const styles: Readonly<Record<string, string>> = {
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  // PostgreSQL 12 and later writes floats exactly with any value from 1; earlier versions need 3.
  extra_float_digits: '3',
  array_nulls: 'on',
}

const setStyles = `SELECT ${Object.entries(styles)
  .map(([name, style]) => `set_config('${name}', '${style}', false)`)
  .join(', ')}`

/** Connections that are prepared already: several mounts can share the connections of a data source. */
const preparedClients = new WeakSet<PoolClient>()

/** Makes a connection set these formats before its first statement. */
export function setOutputFormats(client: PoolClient): void {
  if (preparedClients.has(client)) return
  preparedClients.add(client)
  const query = client.query.bind(client)
  let isSet = false
  let pending: Promise<void> | undefined
  const sendStyles = async (): Promise<void> => {
    try {
      await query(setStyles)
      isSet = true
    } finally {
      // After an error, such as a cancellation, the next statement tries again.
      pending = undefined
    }
  }
  // Statements wait for the settings here, because pg warns about more than one statement in its own queue. Submittable
  // objects (such as those of pg-cursor) do not wait, because pg returns them as the result.
  client.query = (text, ...parameters) => {
    if (isSet || isSubmittable(text)) return query(text, ...parameters)
    pending ??= sendStyles()
    const callback = parameters.at(-1)
    return pending.then(
      () => query(text, ...parameters),
      (error: unknown) => {
        if (typeof callback !== 'function') throw error
        // A caller that passes a callback ignores the promise.
        callback(error)
      },
    )
  }
}

function isSubmittable(text: unknown): boolean {
  return typeof Object(text).submit === 'function'
}
