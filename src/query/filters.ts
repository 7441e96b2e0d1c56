import { type FieldErrors, ValueError } from '../errors'
import type { Filter } from '../request/groups'
import type { Limits } from '../request/limits'
import { isPattern, parseOperand } from './operand'
import { patternCost } from './pattern-cost'
import type { Comparison, Query } from './query'
import type { QueryShape } from './query-shape'

/**
 * The values that an outline is asked with; those of one name are gathered (specification: Repeated parameters).
 * @param errors receives every value that cannot be answered
 */
export function filterValues(
  outline: QueryShape,
  filters: readonly Filter[],
  limits: Limits,
  errors: FieldErrors,
): Query['values'] {
  const values: (readonly unknown[])[] = []
  let patterns = 0
  let all = 0
  let patternCosts = 0
  filters.forEach(({ name, value, isList }, index) => {
    const comparison = outline.filters[index]
    if (comparison === undefined) return
    errors.try(name, () => {
      const { operator, slot } = comparison
      if (isList && operator !== 'in') {
        throw new ValueError('has a list in parentheses, which only the operator "in" takes')
      }
      if (isPattern(operator)) patterns += value.length
      if (patterns > limits.allPatterns) {
        throw new ValueError(`is one pattern too many: all together may have ${limits.allPatterns} characters`)
      }
      const parsed = parseValues(comparison, value, limits)
      all += parsed.length
      if (all > limits.allMembers) {
        throw new ValueError(`is one list too long: all lists together may have ${limits.allMembers} members`)
      }
      if (isPattern(operator)) patternCosts += patternCost(value, operator === 'ilike')
      if (patternCosts > limits.patternCost) {
        throw new ValueError(
          `is a pattern too costly: all patterns cost ${patternCosts} comparisons for each character of a text, more than ${limits.patternCost}; avoid repeated text after "%", such as "%aaaa"`,
        )
      }
      const members = values[slot]?.concat(parsed) ?? parsed
      values[slot] = members
      if (members.length > limits.members) {
        throw new ValueError(`may have ${limits.members} members, this has ${members.length}`)
      }
    })
  })
  return values
}

function parseValues({ on, operator, suggestion }: Comparison, text: string, limits: Limits): readonly unknown[] {
  try {
    return parseOperand(on.field, operator, text, limits)
  } catch (error) {
    if (!(error instanceof ValueError) || suggestion === undefined) throw error
    throw new ValueError(`${error.message}; use ${suggestion} to compare another of its fields`)
  }
}
