/**
 * Maximum number of comparisons that a LIKE pattern needs for each character of a text. Databases try to match the part
 * after a `%` at every position. If this part repeats its own start (`%aaaaab`), several attempts read the same
 * character.
 * @param ignoreCase whether the comparison ignores the case of letters
 */
export function patternCost(pattern: string, ignoreCase: boolean): number {
  const tokens = (ignoreCase ? pattern.toLowerCase() : pattern).match(/\\.|./gsu) ?? []
  const parts: string[][] = [[]]
  for (const token of tokens) {
    if (token === '%') parts.push([])
    else parts.at(-1)?.push(token === '_' ? anyCharacter : token.replace(/^\\(.)/su, '$1'))
  }
  // The text before the first % is compared at one position only.
  return 1 + Math.max(0, ...parts.slice(1).map(selfOverlap))
}

/** Token for `_`. It differs from all other tokens, because these are single characters. */
const anyCharacter = 'any'

/** Maximum number of later match attempts that read the same character as the first one. */
function selfOverlap(part: readonly string[]): number {
  // Databases treat `%_` as `_%`.
  const start = part.findIndex((token) => token !== anyCharacter)
  const tokens = start < 0 ? [] : part.slice(start)
  const attempts = tokens.map(() => 0)
  for (let shift = 1; shift < tokens.length; shift++) {
    for (let index = shift; index < tokens.length && mayEqual(tokens[index], tokens[index - shift]); index++) {
      attempts[index] = (attempts[index] ?? 0) + 1
    }
  }
  return Math.max(0, ...attempts)
}

/** Whether two tokens can match the same character. */
function mayEqual(one: string | undefined, other: string | undefined): boolean {
  return one === other || one === anyCharacter || other === anyCharacter
}
