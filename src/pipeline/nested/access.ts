import { ApiError } from '../../errors'
import { problemOf } from '../../problem'
import type { ListBody, RecordBody } from '../../query/nested-body'
import type { ResourceView, WriteAction } from '../../schema/resource-view'
import type { PermittedRequest } from '../service'

/** Whether a record is created or updated; `unknown` for an upsert, which finds out in its transaction. */
export type ParentState = 'new' | 'stored' | 'unknown'

/**
 * Decisions of the access rules of related resources. The rules are called before the transaction begins: a query of a rule
 * could otherwise wait for the end of the transaction.
 */
export class NestedAccess {
  /** The errors of rules that refuse a write, by action and resource; undefined for a permitted one. */
  readonly #refusals = new Map<string, unknown>()

  constructor(readonly request: PermittedRequest) {}

  /**
   * Calls the rules for all writes that a body may need.
   * @param replaces whether related records that are not in the body are deleted
   * @throws {ApiError} `unauthorized`, `forbidden` if a rule refuses a write that the body certainly needs
   */
  async check(body: RecordBody, state: ParentState, replaces: boolean): Promise<void> {
    for (const member of body.members) {
      if (member.type === 'list') await this.#checkList(member, state, replaces)
    }
  }

  /** @throws {ApiError} `unauthorized`, `forbidden` if the access rule of a resource does not permit a write */
  require({ name }: ResourceView, action: WriteAction): void {
    const key = `${action} ${name}`
    if (!this.#refusals.has(key)) throw new Error(`the access rule of ${name} was not called for the action ${action}`)
    const refusal = this.#refusals.get(key)
    if (refusal !== undefined) throw refusal
  }

  async #checkList({ relation, records }: ListBody, parent: ParentState, replaces: boolean): Promise<void> {
    const { target } = relation
    const { name, insertable } = target.key
    if (replaces && parent !== 'new') await this.#callRule(target, 'delete')
    for (const record of records) {
      // The records of a new parent are new.
      const hasId = parent !== 'new' && record.fields.has(name)
      // A record with a key that the client chooses may exist or not.
      const state = !hasId ? 'new' : insertable ? 'unknown' : parent
      if (state !== 'stored') await this.#callRule(target, 'create')
      if (state !== 'new') await this.#callRule(target, 'update')
      if (state === 'new') this.require(target, 'create')
      if (state === 'stored') this.require(target, 'update')
      await this.check(record, state, replaces)
    }
  }

  /** Calls an access rule, once for each resource and action. */
  async #callRule(view: ResourceView, action: Exclude<WriteAction, 'restore'>): Promise<void> {
    const key = `${action} ${view.name}`
    if (this.#refusals.has(key)) return
    const { principal, principalFor, method } = this.request
    const methods = { create: 'POST', update: method === 'POST' ? 'PATCH' : method, delete: 'DELETE' }
    const refusalOf = async (): Promise<unknown> => {
      const other = await principalFor(view, methods[action])
      if (other.id === principal.id) return undefined
      throw new TypeError(`the access rules of ${this.request.resource.name} and ${view.name} return different users`)
    }
    this.#refusals.set(
      key,
      await refusalOf().catch((error: unknown) => {
        if (error instanceof ApiError || problemOf(error) !== undefined) return error
        throw error
      }),
    )
  }
}
