import { ruleTitle } from '../access/require-principal'
import { adminRule, type Rule, readOnlyRule, userRule } from '../access/rule'
import type { Report } from '../errors'
import type { MountContext } from './context'
import type { Registration } from './registration'

/**
 * The access rule of a resource, checked for what it needs.
 * @returns undefined when there is none to ask
 */
export function buildRule({ options }: Registration, context: MountContext, report: Report): Rule | undefined {
  // A module that is still loading, in a circle of imports, must not open a resource.
  if ('auth' in options && !options.auth) report('"auth" is given and empty; do modules import each other in a circle?')
  const rule = options.auth ?? (options.ownerField === undefined ? context.defaultAuth : userRule())
  if (options.auth !== undefined && !checkRule('auth', rule, report)) return undefined
  checkNeeds(rule, context, report)
  return rule
}

/** Whether the value of an option is a rule that was made as it must be. */
export function checkRule(option: 'auth' | 'defaultAuth' | 'openapi', rule: Rule, report: Report): boolean {
  if (typeof rule !== 'function') {
    report(`"${option}" must be a rule, as userRule() or a function that answers with the principal`)
    return false
  }
  const uncalled = [readOnlyRule, userRule, adminRule].find((factory) => Object.is(factory, rule))
  if (uncalled !== undefined) report(`"${option}" is ${uncalled.name} itself; call it: ${uncalled.name}()`)
  return true
}

/** Whether the site has the users that a rule asks for. */
export function checkNeeds(
  rule: Rule,
  { accounts, hasUsers }: Pick<MountContext, 'accounts' | 'hasUsers'>,
  report: Report,
): void {
  if (rule.needs !== undefined && !hasUsers) {
    report(`its rule (${ruleTitle(rule)}) needs users; put @UserAccount on their entity or give the option "users"`)
  } else if (rule.needs === 'admins' && accounts !== undefined && accounts.admin === undefined) {
    report(`its rule (${ruleTitle(rule)}) needs administrators; name their property in @UserAccount({ admin })`)
  }
}
