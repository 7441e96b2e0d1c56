/**
 * Greatest number of comparisons that a pattern of LIKE costs for each character of a text. Databases look for what follows a `%` at
 * every position in turn. Where such a part repeats its own beginning (`%aaaaab`), several of these attempts read the same character.
 * @param ignoreCase whether letters are compared in any case
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

/** Stands for `_`, which no other token is, since all others are one character. */
const anyCharacter = 'any'

/** How many later positions may still match while the first one does, at most. */
function selfOverlap(part: readonly string[]): number {
  // Databases read `%_` as `_%`.
  const start = part.findIndex((token) => token !== anyCharacter)
  const tokens = start < 0 ? [] : part.slice(start)
  const alive = tokens.map(() => 0)
  for (let shift = 1; shift < tokens.length; shift++) {
    for (let at = shift; at < tokens.length && mayEqual(tokens[at], tokens[at - shift]); at++) {
      alive[at] = (alive[at] ?? 0) + 1
    }
  }
  return Math.max(0, ...alive)
}

function mayEqual(one: string | undefined, other: string | undefined): boolean {
  return one === other || one === anyCharacter || other === anyCharacter
}
