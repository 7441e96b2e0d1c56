import { ValueError } from '../errors'
import type { Limits } from '../request/limits'
import { patternCost } from './pattern-cost'

/** Adds up the values and patterns of a request, and refuses those that exceed a limit. */
export class ValueBudget {
  #patternLength = 0
  #patternCost = 0
  #values = 0

  constructor(readonly limits: Limits) {}

  /** @throws {ValueError} if all patterns together are too long */
  addPatternLength(length: number): void {
    this.#patternLength += length
    const { allPatterns } = this.limits
    if (this.#patternLength > allPatterns) {
      throw new ValueError(`is one pattern too many: all patterns together may have at most ${allPatterns} characters`)
    }
  }

  /** @throws {ValueError} if there are too many values */
  addValues(count: number): void {
    this.#values += count
    const { allMembers } = this.limits
    if (this.#values > allMembers) {
      throw new ValueError(`is one value too many: all filters together may have at most ${allMembers} values`)
    }
  }

  /**
   * @param ignoreCase whether the comparison ignores the case of letters
   * @param times number of fields that are compared with the pattern
   * @throws {ValueError} if all patterns together are too costly
   */
  addPatternCost(pattern: string, ignoreCase: boolean, times = 1, advice = avoidRepetition): void {
    this.#patternCost += patternCost(pattern, ignoreCase) * times
    const { patternCost: maxCost } = this.limits
    if (this.#patternCost > maxCost) {
      throw new ValueError(
        `is a pattern too costly: all patterns need ${this.#patternCost} comparisons for each character of a text, ` +
          `at most ${maxCost} are allowed; ${advice}`,
      )
    }
  }

  /**
   * @param count number of words, or of parts of words, that an index is searched for
   * @throws {ValueError} if there are too many
   */
  addWordParts(count: number): void {
    this.#patternCost += count
    const { patternCost: maxCost } = this.limits
    if (this.#patternCost > maxCost) {
      throw new ValueError(
        `may have at most ${maxCost} words; each part of a word such as "x-ray" counts, and so do the comparisons of patterns`,
      )
    }
  }
}

const avoidRepetition = 'avoid repeated text after "%", such as "%aaaa"'
