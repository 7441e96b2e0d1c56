import type { FieldErrors } from '../errors'
import type { Pair } from './pairs'

/**
 * Adds an error for each unknown parameter (specification: Unknown parameters). If it were ignored, a misspelt `dry_run` or
 * `on_conflict` would write other records than the client expects.
 * @param known names of the parameters that the request can have
 */
export function requireKnownParameters(pairs: readonly Pair[], known: readonly string[], errors: FieldErrors): void {
  const advice = known.length === 0 ? ', which has none' : `; parameters: ${known.join(', ')}`
  for (const { name } of pairs) {
    if (!known.includes(name)) errors.add(name, `is not a parameter of this request${advice}`)
  }
}
