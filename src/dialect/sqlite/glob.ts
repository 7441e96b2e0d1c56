/**
 * Converts a LIKE pattern into a GLOB pattern. SQLite's LIKE always ignores the case of ASCII letters, and only of
 * these; GLOB is case-sensitive. To ignore case, each letter is replaced by the set of its upper and lower case forms
 * (specification: Operators).
 */
export function globPattern(like: string, ignoreCase: boolean): string {
  return like.replace(/\\(.)|(.)/gsu, (_, escaped: string | undefined, unescaped: string | undefined) => {
    if (unescaped === '%') return '*'
    if (unescaped === '_') return '?'
    const character = escaped ?? unescaped ?? ''
    if ('*?['.includes(character)) return `[${character}]`
    const forms = ignoreCase ? caseForms(character) : [character]
    return forms.length > 1 ? `[${forms.join('')}]` : character
  })
}

/** The lower case form of a character, and all characters with the same lower case form. */
function caseForms(character: string): readonly string[] {
  const lower = character.toLowerCase()
  upperForms ??= collectUpperForms()
  return [lower, ...(upperForms.get(lower) ?? [])].filter((form) => [...form].length === 1)
}

/**
 * Maps a lower case character to all other characters with this lower case form. Built at first use, which takes 10 ms.
 */
let upperForms: ReadonlyMap<string, readonly string[]> | undefined

function collectUpperForms(): ReadonlyMap<string, readonly string[]> {
  const forms = new Map<string, string[]>()
  // The last code point that has upper and lower case forms (ADLAM SMALL LETTER SHA).
  const lastCased = 0x1e943
  for (let code = 0; code <= lastCased; code++) {
    const character = String.fromCodePoint(code)
    const lower = character.toLowerCase()
    if (lower !== character) forms.set(lower, [...(forms.get(lower) ?? []), character])
  }
  return forms
}
