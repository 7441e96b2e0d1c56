import type { DataSource } from 'typeorm'
import type { TransactionSettings } from '../dialect'
import { isServiceStatement, withComment } from '../statement-comment'
import type { PoolClient, PostgresDriver } from './connection'
import { attachSettings, settingsSql } from './statement-settings'
import { endPattern, sqlOf } from './time-limit'

/** Settings of the transactions of connections that have not been set yet; undefined if there are none. */
const pendingSettings = new WeakMap<PoolClient, TransactionSettings | undefined>()

/**
 * Sets values for the transaction that a connection has begun, before its first statement, also if it is one of a
 * listener. They need no round trip of their own before a statement of this service.
 */
export function beginWithSettings(client: PoolClient, settings: TransactionSettings): void {
  if (!pendingSettings.has(client)) watchStatements(client)
  pendingSettings.set(client, settings)
}

/** Makes a connection set pending settings before the next statement that needs them. */
function watchStatements(client: PoolClient): void {
  const query = client.query.bind(client)
  client.query = (text, ...parameters) => {
    const settings = takeSettings(client, text)
    if (settings === undefined) return query(text, ...parameters)
    const [values] = parameters
    if (typeof text === 'string' && isServiceStatement(text) && Array.isArray(values)) {
      attachSettings(values, settings)
      return query(text, ...parameters)
    }
    const areSet = query(withComment(settingsSql(settings)), settings) as Promise<unknown>
    if (typeof text === 'string' && parameters.length < 2) return areSet.then(() => query(text, ...parameters))
    // A stream, for example, is the result itself, and cannot wait. If the settings fail, the transaction is aborted.
    areSet.catch(() => undefined)
    return query(text, ...parameters)
  }
}

/**
 * The settings that a connection has to set before a statement. LOCK TABLE does not need them: at the isolation level
 * REPEATABLE READ a SELECT before it would take the snapshot of the transaction, which would then not see what others
 * have written while it waits. SAVEPOINT needs them, because a rollback to it undoes settings that are set after it.
 */
function takeSettings(client: PoolClient, text: unknown): TransactionSettings | undefined {
  const settings = pendingSettings.get(client)
  const sql = settings === undefined ? '' : sqlOf(text)
  if (settings === undefined || lockPattern.test(sql)) return undefined
  pendingSettings.set(client, undefined)
  return endPattern.test(sql) ? undefined : settings
}

const lockPattern = /^LOCK\b/i

/** Whether the driver can send settings together with a statement: pg can, its variant for libpq (pg-native) cannot. */
export function supportsSettings({ driver }: DataSource): boolean {
  // A module that an application passes as the option `driver` may lack the class.
  return 'prepare' in Object((driver as PostgresDriver).postgres.Query?.prototype)
}
