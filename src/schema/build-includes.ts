import type { Report } from '../errors'
import { isNamed } from './property'
import type { Registration } from './registration'
import type { ResourceView, ResourceViews } from './resource-view'

/** Reads the option `includes`. */
export function buildIncludes({ options: { includes } }: Registration, report: Report): ResourceView['includes'] {
  if (includes === undefined) return 'all'
  if (Array.isArray(includes)) return includes
  report(`"includes" must be an array of relations, not ${JSON.stringify(includes)}`)
  return []
}

/** Reports members of the option `includes` of all resources that cannot be included, when these are built. */
export function checkIncludesOptions(
  resources: ResourceViews,
  registrations: readonly Registration[],
  report: Report,
): void {
  const views = new Map([...resources.values()].map((view) => [view.metadata, view]))
  for (const registration of registrations) {
    const view = views.get(registration.metadata)
    if (view === undefined || view.includes === 'all') continue
    for (const name of view.includes) {
      const mistake = mistakeOf(view, registration, name)
      if (mistake !== undefined) report(`${view.metadata.name}: "includes" names "${name}", which ${mistake}`)
    }
  }
}

/** Why a property cannot be included; undefined if it can be. */
function mistakeOf(view: ResourceView, { metadata, options }: Registration, name: string): string | undefined {
  const relation = metadata.relations.find(({ propertyPath }) => propertyPath === name)
  if (relation === undefined) {
    const names = metadata.relations.map(({ propertyPath }) => propertyPath)
    return `is not a relation; relations: ${names.join(', ') || 'none'}`
  }
  if (isNamed(name, options.exclude)) return 'is in "exclude"; remove it from one of them'
  if (view.related(relation) !== undefined) return undefined
  return `leads to ${relation.inverseEntityMetadata.name}, which is not a resource or hides the relation`
}
