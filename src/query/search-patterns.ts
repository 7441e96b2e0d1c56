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
  requireLength(word, budget)
  const pattern = `%${word.replace(/[\\%_]/g, '\\$&')}%`
  budget.addPatternLength(word.length * fields)
  budget.addValues(fields)
  budget.addPatternCost(pattern, true, fields, `use fewer words: each is compared with ${fields} fields`)
  return pattern
}

/**
 * Returns the words that a text search index can contain: those with a letter or a digit. The limits of patterns apply. Each part of
 * a word, as those of `x-ray`, is one pattern: the database looks for each of them.
 * @throws {ValueError} for a word that exceeds a limit
 */
export function parseWords(words: readonly string[], budget: ValueBudget): readonly string[] {
  for (const word of words) {
    requireLength(word, budget)
    budget.addPatternLength(word.length)
    budget.addWordParts(word.match(/[\p{L}\p{M}\p{N}]+/gu)?.length ?? 0)
  }
  // Control characters would end the text of a query in some databases.
  return words.map((word) => word.replace(/\p{Cc}/gu, ' ')).filter((word) => /[\p{L}\p{N}]/u.test(word))
}

/** @throws {ValueError} for a word that is too long */
function requireLength({ length }: string, { limits: { pattern: maxLength } }: ValueBudget): void {
  if (length > maxLength) throw new ValueError(`takes words of at most ${maxLength} characters, one has ${length}`)
}
