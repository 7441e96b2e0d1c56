import { type FieldErrors, ValueError } from '../errors'
import type { Filter } from '../request/groups'
import type { Limits } from '../request/limits'
import { isPattern, parseOperand } from './operand'
import { patternCost } from './pattern-cost'
import type { Comparison, Query } from './query'
import type { QueryShape } from './query-shape'
import { suggestForValue } from './suggestions'

/**
 * Parses the values of the filters. Values of one comparison are collected at its `valuesIndex`
 * (specification: Repeated parameters).
 * @param errors receives every value that is invalid or exceeds a limit
 */
export function parseFilterValues(
  shape: QueryShape,
  filters: readonly Filter[],
  limits: Limits,
  errors: FieldErrors,
): Query['values'] {
  const values: (readonly unknown[])[] = []
  let patternLength = 0
  let valueCount = 0
  let totalPatternCost = 0
  filters.forEach(({ name, value, isList }, index) => {
    const comparison = shape.filters[index]
    if (comparison === undefined) return
    errors.try(name, () => {
      const { operator, valuesIndex } = comparison
      if (isList && operator !== 'in') {
        throw new ValueError('has a list in parentheses, which only the operator "in" takes')
      }
      if (isPattern(operator)) patternLength += value.length
      if (patternLength > limits.allPatterns) {
        throw new ValueError(
          `is one pattern too many: all patterns together may have at most ${limits.allPatterns} characters`,
        )
      }
      const parsed = parseValues(comparison, name, value, limits)
      valueCount += parsed.length
      if (valueCount > limits.allMembers) {
        throw new ValueError(`is one value too many: all filters together may have at most ${limits.allMembers} values`)
      }
      if (isPattern(operator)) totalPatternCost += patternCost(value, operator === 'ilike')
      if (totalPatternCost > limits.patternCost) {
        throw new ValueError(
          `is a pattern too costly: all patterns need ${totalPatternCost} comparisons for each character of a text, ` +
            `at most ${limits.patternCost} are allowed; avoid repeated text after "%", such as "%aaaa"`,
        )
      }
      const members = values[valuesIndex]?.concat(parsed) ?? parsed
      values[valuesIndex] = members
      if (members.length > limits.members) {
        throw new ValueError(`may have at most ${limits.members} members, this has ${members.length}`)
      }
    })
  })
  return values
}

/** @throws {ValueError} with a suggestion, if there is one */
function parseValues(
  { on, operator, suggestion }: Comparison,
  name: string,
  text: string,
  limits: Limits,
): readonly unknown[] {
  try {
    return parseOperand(on.field, operator, text, limits)
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    const related = suggestion === undefined ? '' : `; use ${suggestion} to compare another field of the related record`
    throw new ValueError(`${error.message}${suggestForValue(name, operator, text) || related}`)
  }
}
