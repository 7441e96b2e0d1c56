import { type FieldErrors, ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { Filter } from '../request/list-request'
import { isPattern, parseOperand } from './operand'
import type { Outline, ScopeOutline } from './outline'
import type { Comparison, Exists, Scope } from './plan'

/**
 * What an outline asks with the values of its filters; those of one name are gathered (D17).
 * @param errors receives every value that cannot be answered
 */
export function planFilters(
  outline: Outline,
  filters: readonly Filter[],
  limits: Limits,
  errors: FieldErrors,
): Scope & { readonly exists: readonly Exists[] } {
  const values = new Map<Comparison, unknown[]>()
  let patterns = 0
  for (const [index, { name, value }] of filters.entries()) {
    const comparison = outline.filters[index]
    if (comparison === undefined) continue
    errors.try(name, () => {
      const { on, operator } = comparison
      if (isPattern(operator)) patterns += value.length
      if (patterns > limits.allPatterns) {
        throw new ValueError(`is one pattern too many: all together may have ${limits.allPatterns} characters`)
      }
      const members = values.get(comparison) ?? []
      values.set(comparison, members)
      members.push(...parseOperand(on.field, operator, value, limits))
      if (members.length > limits.members) {
        throw new ValueError(`may have ${limits.members} members, this has ${members.length}`)
      }
    })
  }
  const ask = ({ joins, comparisons }: ScopeOutline): Scope => ({
    joins,
    conditions: comparisons.map((one) => ({ on: one.on, operator: one.operator, values: values.get(one) ?? [] })),
  })
  return { ...ask(outline), exists: outline.exists.map((exists) => ({ ...ask(exists), first: exists.first })) }
}
