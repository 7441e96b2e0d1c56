import type { DataSource } from 'typeorm'

interface Client {
  readonly query: (sql: string) => void
}

/** Runs a SET statement once on every connection of mysql2, when the pool provides it for the first time. */
export async function setOnce(dataSource: DataSource, settings: string): Promise<void> {
  const { pool } = dataSource.driver as unknown as {
    readonly pool: { readonly on: (event: string, listener: (client: Client) => void) => void }
  }
  const known = new WeakSet<Client>()
  pool.on('acquire', (client) => {
    if (!known.has(client)) client.query(settings)
    known.add(client)
  })
}
