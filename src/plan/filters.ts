import { type FieldErrors, ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { Filter } from '../request/list-request'
import { isPattern, parseOperand } from './operand'
import type { Outline, ScopeOutline } from './outline'
import type { Exists, Scope } from './plan'

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
  const conditions = outline.comparisons.map(({ on, operator }) => ({ on, operator, values: [] as unknown[] }))
  let patterns = 0
  for (const [index, { name, value }] of filters.entries()) {
    const condition = conditions[outline.filters[index] ?? -1]
    if (condition === undefined) continue
    errors.try(name, () => {
      const { on, operator, values } = condition
      if (isPattern(operator)) patterns += value.length
      if (patterns > limits.allPatterns) {
        throw new ValueError(`is one pattern too many: all together may have ${limits.allPatterns} characters`)
      }
      values.push(...parseOperand(on.field, operator, value, limits))
      if (values.length > limits.members) {
        throw new ValueError(`may have ${limits.members} members, this has ${values.length}`)
      }
    })
  }
  const ask = ({ joins, asks }: ScopeOutline): Scope => ({
    joins,
    conditions: conditions.filter((_, place) => asks.includes(place)),
  })
  return { ...ask(outline), exists: outline.exists.map((exists) => ({ ...ask(exists), first: exists.first })) }
}
