import { type FieldErrors, ValueError } from '../errors'
import type { Filter } from '../request/groups'
import type { Limits } from '../request/limits'
import type { ListRequest } from '../request/list-request'
import { isPattern, parseOperand } from './operand'
import type { Comparison, Query } from './query'
import { parseSearch, parseWords } from './search-patterns'
import type { QueryShape } from './shape'
import { suggestForValue } from './suggestions'
import { ValueBudget } from './value-budget'

/**
 * Parses the values of a list request: those of its filters, and the words of its search. Values of one comparison are
 * collected at its `valuesIndex` (specification: Repeated parameters).
 * @param errors receives every value that is invalid or exceeds a limit
 * @param budget what the values of the request may cost
 */
export function parseValues(
  shape: Pick<QueryShape, 'filters' | 'search' | 'match'>,
  { filters, search }: Pick<ListRequest, 'filters' | 'search'>,
  limits: Limits,
  errors: FieldErrors,
  budget = new ValueBudget(limits),
): Query['values'] {
  const values: (readonly unknown[])[] = []
  filters.forEach((filter, index) => {
    const comparison = shape.filters[index]
    if (comparison === undefined) return
    errors.try(filter.name, () => {
      const parsed = parseFilter(comparison, filter, budget)
      const members = values[comparison.valuesIndex]?.concat(parsed) ?? parsed
      values[comparison.valuesIndex] = members
      if (members.length > limits.members) {
        throw new ValueError(`may have at most ${limits.members} members, this has ${members.length}`)
      }
    })
  })
  const { match } = shape
  errors.try('search', () => {
    if (match !== undefined) values[match.valuesIndex] = parseWords(search, budget)
    else for (const [index, patterns] of parseSearch(shape.search, search, budget)) values[index] = patterns
  })
  return values
}

/** @throws {ValueError} for a value that is invalid or exceeds a limit */
function parseFilter(comparison: Comparison, { name, value, isList }: Filter, budget: ValueBudget): readonly unknown[] {
  const { operator } = comparison
  if (isList && operator !== 'in') {
    throw new ValueError('has a list in parentheses, which only the operator "in" takes')
  }
  if (isPattern(operator)) budget.addPatternLength(value.length)
  const parsed = parseOperandOf(comparison, name, value, budget.limits)
  budget.addValues(parsed.length)
  if (isPattern(operator)) budget.addPatternCost(value, operator === 'ilike')
  return parsed
}

/** @throws {ValueError} with a suggestion, if there is one */
function parseOperandOf(
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
