import { isDeepStrictEqual } from 'node:util'
import type { TransactionSettings } from '../dialect/dialect'
import type { DbTransaction } from './db-session'
import { applySettings } from './statement'

/**
 * Makes the settings of the session apply to the rest of a transaction in which other settings apply. The value of a
 * setting that only these have becomes an empty text.
 * @param applied the settings that apply
 * @returns those that apply now
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
