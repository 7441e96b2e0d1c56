import type { Field } from '../schema/field'

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

/** Sorts behind every instant of the year 9999: what TypeORM makes of the next one would sort before all. */
const endOfTime = '9999-12-31 24'

/**
 * A date-time is stored as text, with three decimals by TypeORM and with none by SQLite's `CURRENT_TIMESTAMP`. Without
 * trailing zeros a bound sorts before both.
 * @param stored what TypeORM stores for the instant
 */
export function dateTimeBound(instant: unknown, stored: unknown): unknown {
  if (instant instanceof Date && instant.getUTCFullYear() > 9999) return endOfTime
  return typeof stored === 'string' ? stored.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') : stored
}

/** The date behind `YYYY-MM-DD`, as text that sorts there; the last one's is none. */
export function dayAfter(date: string): string {
  if (date === '9999-12-31') return '9999-12-32'
  return new Date(Date.parse(date) + 86_400_000).toISOString().slice(0, 10)
}

/** How to read a column: integers that a double cannot hold as text (D12), JSONB, which is bytes, as JSON. */
export function readExpression({ kind, valueColumn }: Field, column: string): string {
  if (valueColumn.type === 'jsonb') return `json(${column})`
  return kind.wide && valueColumn.transformer === undefined ? `CAST(${column} AS TEXT)` : column
}
