import type { DbTransaction } from '../connection/db-session'

/** The distance between generated keys on MySQL and MariaDB. It is more than 1 on servers that replicate each other. */
export async function keyIncrementOf({ runner }: DbTransaction): Promise<number> {
  const [row]: readonly { readonly step?: unknown }[] = await runner.query('SELECT @@auto_increment_increment AS step')
  return Number(row?.step ?? 1)
}
