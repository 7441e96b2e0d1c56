import type { RunSql } from '../run-sql'
import { withComment } from '../statement-comment'
import type { PoolClient } from './connection'

/**
 * Formats that pg and this service read and write. A role, a database or `extra.options` may set others: pg would read
 * date-times as null, nulls in arrays would be stored as texts, and floats would lose digits, so that a cursor would
 * point before its own record.
 */
const styles: Readonly<Record<string, string>> = {
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  // PostgreSQL 12 and later writes floats exactly with any value from 1; earlier versions need 3.
  extra_float_digits: '3',
  array_nulls: 'on',
}

/**
 * With `replica`, PostgreSQL does not check foreign keys. Most roles may not set this, so the service does it only if it is
 * needed.
 */
const checkForeignKeys = `CASE WHEN current_setting('session_replication_role') = 'replica'
  THEN set_config('session_replication_role', 'origin', false) END`

const setStyles = withComment(
  `SELECT ${Object.entries(styles)
    .map(([name, style]) => `set_config('${name}', '${style}', false)`)
    .join(', ')}, ${checkForeignKeys}`,
)

/** Defaults of the role, the database and the server that this service would have to change. */
const unsuitableDefaults = `SELECT quote_ident(current_user) AS role, name, reset_val AS value
FROM pg_settings WHERE CASE name
  WHEN 'DateStyle' THEN reset_val NOT LIKE 'ISO%'
  WHEN 'IntervalStyle' THEN reset_val <> 'postgres'
  WHEN 'extra_float_digits' THEN reset_val::int < 1
  WHEN 'array_nulls' THEN reset_val <> 'on'
  WHEN 'session_replication_role' THEN reset_val = 'replica'
END ORDER BY name`

/**
 * Warns of defaults that are other formats, or with which foreign keys are not checked. Connections of this service change
 * them, but a pooler that shares connections between clients, such as PgBouncer, may send later statements to connections
 * that still have the defaults.
 */
export async function defaultsWarnings(runSql: RunSql): Promise<readonly string[]> {
  const settings = await runSql(unsuitableDefaults)
  if (settings.length === 0) return []
  const suitable: Readonly<Record<string, string>> = { ...styles, session_replication_role: 'origin' }
  const found = settings.map(({ name, value }) => `${name} ${value}`).join(', ')
  const sql = settings
    .map(({ role, name }) => `ALTER ROLE ${role} SET ${name} = '${suitable[String(name)]}';`)
    .join(' ')
  return [
    `the defaults of the role are ${found}. Behind a pooler in transaction mode, such as PgBouncer, some statements would ` +
      `run with them: with other formats in responses, records that keyset paging repeats, or foreign keys that are not ` +
      `checked. There, run these statements, and close the connections of the pooler: ${sql}`,
  ]
}

/** Connections that are prepared already: several mounts can share the connections of a data source. */
const preparedClients = new WeakSet<PoolClient>()

/** Makes a connection set these formats, and the check of foreign keys, before its first statement. */
export function prepareSession(client: PoolClient): void {
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
  // objects (such as those of pg-cursor) without a callback do not wait, because pg returns them as the result.
  client.query = (text, ...parameters) => {
    const callback = parameters.at(-1)
    if (isSet || (isSubmittable(text) && typeof callback !== 'function')) return query(text, ...parameters)
    pending ??= sendStyles()
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
