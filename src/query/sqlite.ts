/**
 * LIKE as a GLOB pattern: SQLite's own LIKE ignores the case of ASCII letters only, and GLOB minds the case of all. Without
 * case, each letter becomes the set of its forms (D16).
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

function caseForms(character: string): readonly string[] {
  const forms = new Set([character, character.toLowerCase(), character.toUpperCase()])
  return [...forms].filter((form) => [...form].length === 1)
}

/**
 * A date-time is stored as text, with three decimals by TypeORM and with none by SQLite's `CURRENT_TIMESTAMP`. Without
 * trailing zeros a bound sorts before both.
 */
export function dateTimeBound(stored: unknown): unknown {
  return typeof stored === 'string' ? stored.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') : stored
}
