import type { Report } from '../errors'
import type { Registration } from './registration'
import type { ResourceView } from './resource-view'

/** Checks the option `includes`. */
export function buildIncludes(
  { metadata, options: { includes } }: Registration,
  report: Report,
): ResourceView['includes'] {
  if (includes === undefined) return 'all'
  if (!Array.isArray(includes)) {
    report(`"includes" must be an array of relations, not ${JSON.stringify(includes)}`)
    return []
  }
  const relations = metadata.relations.map(({ propertyPath }) => propertyPath)
  for (const name of includes) {
    if (!relations.includes(name)) {
      report(`"includes" names "${name}", which is not a relation; relations: ${relations.join(', ') || 'none'}`)
    }
  }
  return includes
}
