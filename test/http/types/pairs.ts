import type { Json } from '../../../src/value/value-type'
import type { TypedColumn } from './row'

/** Other texts that a database may consider equal to this one. */
function spellingsOf(value: Json): readonly Json[] {
  if (typeof value !== 'string') return []
  const changed = [value.toUpperCase(), value.toLowerCase(), value.trimEnd(), `${value} `, value.normalize('NFD')]
  return changed.filter((other) => other !== value)
}

/** Values of a column with those that they are compared with. */
export function pairsOf({ row }: TypedColumn): readonly (readonly [Json, Json])[] {
  const values = [...row.same, ...(row.shownAs ?? []).flat(), ...(row.finds ?? []).map(([, text]) => text)]
  return values.flatMap((value, index) => {
    const others = new Set([value, ...spellingsOf(value), values[index + 1] ?? null, values[0] ?? null])
    return [...others].map((other): readonly [Json, Json] => [value, other])
  })
}
