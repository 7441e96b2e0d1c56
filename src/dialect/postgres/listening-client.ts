import type { Driver } from 'typeorm'

/** A connection of pg that receives notifications. */
export interface ListeningClient {
  readonly connect: () => Promise<void>
  readonly query: (sql: string) => Promise<unknown>
  readonly end: () => Promise<void>
  readonly on: ((event: 'error' | 'end', listener: () => void) => void) &
    ((event: 'notification', listener: (notification: { readonly payload?: string }) => void) => void)
}

/** The members of TypeORM's driver for PostgreSQL that are needed here. */
type ListeningDriver = Driver & {
  readonly master?: { readonly options: { readonly password?: unknown } }
  readonly postgres: { readonly Client: new (options: object) => ListeningClient }
}

/** Time that a statement of such a connection may take, in milliseconds. */
const queryTimeout = 5000

/** Creates a connection to the primary, with the options of the driver's pool. It is not connected yet. */
export function openClient(driver: Driver): ListeningClient {
  const { master, postgres } = driver as ListeningDriver
  // The pool hides the password from enumeration.
  const password = master?.options.password
  return new postgres.Client({ ...master?.options, password, keepAlive: true, query_timeout: queryTimeout })
}
