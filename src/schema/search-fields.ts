import type { EntityMetadata } from 'typeorm'
import type { OptionalName } from './list-parameters'
import type { FilterNames, ResourceView, SearchField, SearchStep } from './resource-view'

/**
 * Returns a function for the fields that a search of one principal reads: those in the option `search` without the
 * fields that the principal may not read. They may belong to resources that are not built yet, so they are looked up when
 * they are first needed.
 */
export function lazySearchFields(
  paths: readonly string[],
  viewOf: () => ResourceView | undefined,
): ResourceView['searchFields'] {
  let fields: readonly SearchField[] | undefined
  return () => {
    fields ??= paths.flatMap((path) => {
      const view = viewOf()
      const found = view && findSearchField(view, path)
      return found === undefined ? [] : [found]
    })
    return fields
  }
}

/**
 * Finds the text field with a property path: `title`, `project.name`.
 * @returns undefined for a field that the view does not show, that is not text, or that no to-one relations lead to
 */
export function findSearchField(view: FilterNames, path: string): SearchField | undefined {
  const { steps, target, rest } = followPath(view, path)
  const field = target.outputFields.find(({ property }) => property === rest)
  return field?.valueType.operators.includes('ilike') ? { through: steps, field } : undefined
}

interface FollowedPath {
  readonly steps: readonly SearchStep[]
  readonly target: FilterNames
  /** The part of the path after the relations. */
  readonly rest: string
}

/** Follows the to-one relations at the start of a property path, as far as the view shows their foreign keys. */
export function followPath(view: FilterNames, path: string): FollowedPath {
  const steps: SearchStep[] = []
  let target = view
  let rest = path
  for (;;) {
    const relation = target.outputFields.find(
      ({ relation: one }) => one && rest.startsWith(`${one.propertyPath}.`),
    )?.relation
    const related = relation && target.related(relation)
    if (relation === undefined || related === undefined) return { steps, target, rest }
    steps.push({ relation, target: related })
    rest = rest.slice(relation.propertyPath.length + 1)
    target = related
  }
}

/** The entity that a followed path has reached, which the rest of the path refers to. */
export function entityOf({ steps }: FollowedPath, metadata: EntityMetadata): EntityMetadata {
  return steps.at(-1)?.relation.inverseEntityMetadata ?? metadata
}

/** The optional parameters of a list: `search` only if the principal may read at least one of its fields. */
export function listParametersOf({ optionalParameters, searchFields }: ResourceView): ReadonlySet<OptionalName> {
  return searchFields().length === 0 ? optionalParameters : new Set([...optionalParameters, 'search'])
}
