/**
 * LIKE as a GLOB pattern: SQLite's own LIKE ignores the case of ASCII letters only, and GLOB minds the case of all. Without
 * case, each letter becomes the set of its forms (specification: Operators).
 */
export function globPattern(like: string, ignoreCase: boolean): string {
  return like.replace(/\\(.)|(.)/gsu, (_, escaped: string | undefined, plain: string | undefined) => {
    if (plain === '%') return '*'
    if (plain === '_') return '?'
    const character = escaped ?? plain ?? ''
    if ('*?['.includes(character)) return `[${character}]`
    const forms = ignoreCase ? caseForms(character) : [character]
    return forms.length > 1 ? `[${forms.join('')}]` : character
  })
}

/** All characters that are this one in lower case, and that itself. */
function caseForms(character: string): readonly string[] {
  const lower = character.toLowerCase()
  upperForms ??= collectUpperForms()
  return [lower, ...(upperForms.get(lower) ?? [])].filter((form) => [...form].length === 1)
}

/** From a lower-case character to the others that become it. Made at the first need: it takes ten milliseconds. */
let upperForms: ReadonlyMap<string, readonly string[]> | undefined

function collectUpperForms(): ReadonlyMap<string, readonly string[]> {
  const forms = new Map<string, string[]>()
  const lastCased = 0x1e943
  for (let code = 0; code <= lastCased; code++) {
    const form = String.fromCodePoint(code)
    const lower = form.toLowerCase()
    if (lower !== form) forms.set(lower, [...(forms.get(lower) ?? []), form])
  }
  return forms
}
