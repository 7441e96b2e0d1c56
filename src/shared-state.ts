/** Names of what the copies share. */
type SharedName =
  | 'changeFeeds'
  | 'connectionQueues'
  | 'declarations'
  | 'idempotencyKey'
  | 'mountedClasses'
  | 'mountedPaths'
  | 'servedMounts'
  | 'sqliteLocks'
  | 'sqliteSenders'
  | 'timeLimits'
  | 'transactionScopes'

/**
 * Returns an object that all copies of this package in the process share. A package of entities, or one that mounts the data
 * source of the application, may have its own copy. The first copy that is loaded creates the object.
 */
export function sharedByCopies<T extends object>(name: SharedName, create: () => T): T {
  const key = Symbol.for(`typeorm-resources.${name}`)
  const scope = globalThis as { [key: symbol]: T | undefined }
  const shared = scope[key] ?? create()
  scope[key] = shared
  return shared
}
