import { AsyncLocalStorage } from 'node:async_hooks'
import type { EntityManager } from 'typeorm'
import { sharedByCopies } from '../shared-state'

/**
 * The asynchronous context of one transaction: the function that runs in it, and everything which that function calls.
 */
export interface TransactionScope {
  readonly outer: TransactionScope | undefined
  /** Whether statements outside of the outer scope's transaction run in it. Default: false. */
  readonly sharesOuter?: boolean
}

const scopes = sharedByCopies('transactionScopes', () => new AsyncLocalStorage<TransactionScope>())

/** The scope of the caller, or a new one outside of all scopes. */
export function currentScope(): TransactionScope {
  return scopes.getStore() ?? { outer: undefined }
}

/** Whether the caller is inside a scope, directly or in a nested scope. */
export function isInScope(scope: TransactionScope): boolean {
  for (let current = scopes.getStore(); current !== undefined; current = current.outer) {
    if (current === scope) return true
  }
  return false
}

/** Runs `work` in a scope whose statements run in the transaction of another scope, whichever query runner they are called on. */
export function runSharing<T>(outer: TransactionScope, work: () => T): T {
  return scopes.run({ outer, sharesOuter: true }, work)
}

/** Whether the caller is in a scope that {@link runSharing} has created for this one. */
export function sharesScope(outer: TransactionScope): boolean {
  const scope = scopes.getStore()
  return scope?.sharesOuter === true && scope.outer === outer
}

/** Makes `manager.transaction` run its function in a new scope. */
export function scopeTransactions(manager: EntityManager): void {
  const transaction = manager.transaction.bind(manager) as (...parameters: unknown[]) => Promise<unknown>
  manager.transaction = ((...parameters: unknown[]) =>
    scopes.run({ outer: scopes.getStore() }, () => transaction(...parameters))) as EntityManager['transaction']
}

/**
 * Wraps a broadcaster so that listeners and subscribers run in the scope, also if the transaction was begun elsewhere.
 */
export function bindToScope<T extends object>(broadcaster: T, scope: TransactionScope): T {
  return new Proxy(broadcaster, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => scopes.run(scope, () => Reflect.apply(value, target, parameters))
    },
  })
}
