import type { DbTransaction } from '../connection/db-session'
import { withComment } from '../dialect/statement-comment'

const stepSql = withComment('SELECT @@auto_increment_increment AS step')

/** The distance between generated keys on MySQL and MariaDB. It is more than 1 on servers that replicate each other. */
export async function keyIncrementOf({ runner }: DbTransaction): Promise<number> {
  const [row]: readonly { readonly step?: unknown }[] = await runner.query(stepSql)
  return Number(row?.step ?? 1)
}

/**
 * A key that the server has generated in the same statement as another one.
 * @param firstKey an integer, as the driver reports it: a string beyond the safe integers, which a number would round to the key
 * of another record
 * @param distance from `firstKey`
 */
export function keyAfter(firstKey: unknown, distance: number): number | string {
  const key = BigInt(String(firstKey ?? 0)) + BigInt(distance)
  return Number.isSafeInteger(Number(key)) ? Number(key) : String(key)
}
