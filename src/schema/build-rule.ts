import { missingUsers } from '../access/authenticator'
import { ruleTitle } from '../access/require-principal'
import { adminRule, type Rule, readOnlyRule, userRule } from '../access/rule'
import type { Report } from '../errors'
import type { MountContext } from './context'
import type { Registration } from './registration'

/**
 * Finds the access rule of a resource and checks that the user entity provides what it needs.
 * @returns the default rule if the option `auth` is a mistake, so that the other options are checked too
 */
export function buildRule({ options }: Registration, context: MountContext, report: Report): Rule {
  const { auth, ownerField } = options
  // With a circular import the rule may still be undefined. The resource must not fall back to the default rule then.
  if ('auth' in options && !auth) report(`"auth" is ${auth}; check for a circular import`)
  const isRule = Boolean(auth) && checkRule('auth', auth as Rule, report)
  const rule = isRule ? (auth as Rule) : ownerField === undefined ? context.defaultAuth : userRule()
  checkUserEntity(rule, context, report)
  return rule
}

/** Reports an option that is not a rule, or is a function that creates rules. @returns whether it is a function */
export function checkRule(option: 'auth' | 'defaultAuth' | 'openapi', rule: Rule, report: Report): boolean {
  if (typeof rule !== 'function') {
    const rules = 'readOnlyRule(), userRule(), adminRule(), or a function that returns the principal'
    report(`"${option}" must be a rule: ${rules}; it is ${JSON.stringify(rule)}`)
    return false
  }
  const uncalled = [readOnlyRule, userRule, adminRule].find((factory) => Object.is(factory, rule))
  if (uncalled !== undefined) report(`"${option}" is ${uncalled.name} itself; call it: ${uncalled.name}()`)
  return true
}

/** Reports a rule that needs users or administrators that are not configured. */
export function checkUserEntity(
  rule: Rule,
  { accounts, hasUsers, authenticators }: Pick<MountContext, 'accounts' | 'hasUsers' | 'authenticators'>,
  report: Report,
): void {
  const needsUsers = authenticators.every((one) => one.needsUsers)
  if (rule.needs !== undefined && !hasUsers && needsUsers) {
    report(missingUsers(`its rule (${ruleTitle(rule)})`))
  } else if (rule.needs === 'admins' && accounts !== undefined && accounts.admin === undefined) {
    report(`its rule (${ruleTitle(rule)}) needs administrators; name their property in @UserAccount({ admin })`)
  }
}
