import { AsyncLocalStorage } from 'node:async_hooks'
import type { EntityManager } from 'typeorm'

/** The work of one transaction, and all that it calls. */
export interface Scope {
  readonly outer: Scope | undefined
}

const scopes = new AsyncLocalStorage<Scope>()

/** The scope that this is called in, or a new one. */
export function currentScope(): Scope {
  return scopes.getStore() ?? { outer: undefined }
}

/** Whether this is called from inside a scope, at whatever depth. */
export function isWithin(scope: Scope): boolean {
  for (let at = scopes.getStore(); at !== undefined; at = at.outer) if (at === scope) return true
  return false
}

/** What the function of a transaction calls is known by its scope. */
export function scopeTransactions(manager: EntityManager): void {
  const transaction = manager.transaction.bind(manager) as (...given: unknown[]) => Promise<unknown>
  manager.transaction = ((...given: unknown[]) =>
    scopes.run({ outer: scopes.getStore() }, () => transaction(...given))) as EntityManager['transaction']
}

/** And what listeners and subscribers call, whoever has begun. */
export function inScope<T extends object>(broadcaster: T, scope: Scope): T {
  return new Proxy(broadcaster, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => scopes.run(scope, () => Reflect.apply(value, target, given))
    },
  })
}
