import { isDeepStrictEqual } from 'node:util'
import type { TransactionSettings } from '../dialect/dialect'
import type { DbTransaction } from './db-session'
import { applySettings } from './statement'

/**
 * Applies the settings of a session to the rest of a transaction. Settings that the transaction has and the session does
 * not have are set to the empty string.
 * @param applied the settings that the transaction has
 * @returns the settings that it has now
 */
export async function changeSettings(
  session: DbTransaction,
  applied: TransactionSettings | undefined,
): Promise<TransactionSettings | undefined> {
  const { settings = [] } = session
  if (isDeepStrictEqual(applied ?? [], settings)) return applied
  const isName = (_: string, index: number): boolean => index % 2 === 0
  const names = settings.filter(isName)
  const missing = (applied ?? []).filter(isName).filter((name) => !names.includes(name))
  const changed = [...settings, ...missing.flatMap((name) => [name, ''])]
  await applySettings({ ...session, settings: changed })
  return changed
}
