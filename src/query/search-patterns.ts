import { ValueError } from '../errors'
import type { Comparison, Query } from './query'
import type { ValueBudget } from './value-budget'

/**
 * Builds a LIKE pattern for each word and field of a search. The limits of patterns apply to all of them.
 * @param comparisons of each word with each field
 * @throws {ValueError} for a word that exceeds a limit, or that no field can contain
 */
export function parseSearch(
  comparisons: readonly (readonly Comparison[])[],
  words: readonly string[],
  budget: ValueBudget,
): ReadonlyMap<Comparison['valuesIndex'], Query['values'][number]> {
  const values = new Map<number, readonly unknown[]>()
  words.forEach((word, index) => {
    const fields = comparisons[index] ?? []
    const pattern = patternOf(word, fields.length, budget)
    for (const { on, valuesIndex } of fields) values.set(valuesIndex, [on.field.valueType.fromText(pattern)])
  })
  return values
}

/** LIKE pattern for a text that contains a word, whose characters all stand for themselves. */
function patternOf(word: string, fields: number, budget: ValueBudget): string {
  const { pattern: maxLength } = budget.limits
  if (word.length > maxLength) {
    throw new ValueError(`takes words of at most ${maxLength} characters, one has ${word.length}`)
  }
  const pattern = `%${word.replace(/[\\%_]/g, '\\$&')}%`
  budget.addPatternLength(word.length * fields)
  budget.addValues(fields)
  budget.addPatternCost(pattern, true, fields, `use fewer words: each is compared with ${fields} fields`)
  return pattern
}
