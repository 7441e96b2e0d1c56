import { AsyncLocalStorage } from 'node:async_hooks'
import type { EntityManager } from 'typeorm'

/** The work of one transaction, and all that it calls. */
export interface TransactionScope {
  readonly outer: TransactionScope | undefined
}

const scopes = new AsyncLocalStorage<TransactionScope>()

/** The scope that this is called in, or a new one. */
export function currentScope(): TransactionScope {
  return scopes.getStore() ?? { outer: undefined }
}

/** Whether this is called from inside a scope, at whatever depth. */
export function isWithin(scope: TransactionScope): boolean {
  for (let at = scopes.getStore(); at !== undefined; at = at.outer) if (at === scope) return true
  return false
}

/** Runs the function of each `manager.transaction` in a scope of its own. */
export function scopeTransactions(manager: EntityManager): void {
  const transaction = manager.transaction.bind(manager) as (...given: unknown[]) => Promise<unknown>
  manager.transaction = ((...given: unknown[]) =>
    scopes.run({ outer: scopes.getStore() }, () => transaction(...given))) as EntityManager['transaction']
}

/** Has listeners and subscribers run in a scope, whoever began the transaction. */
export function inScope<T extends object>(broadcaster: T, scope: TransactionScope): T {
  return new Proxy(broadcaster, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => scopes.run(scope, () => Reflect.apply(value, target, given))
    },
  })
}
