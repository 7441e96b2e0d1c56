import type { EntityMetadata } from 'typeorm'
import type { IndexedSearch, ResourceOptions } from '../resource'
import type { OptionalName } from './list-parameters'
import type { FilterNames, ResourceView, SearchField, SearchStep } from './resource-view'

/** Default text search configuration on PostgreSQL: it has no stop words and does not stem. */
export const defaultConfiguration = 'simple'

/** Whether the option `search` names an index. Other mistakes of its value are reported later. */
export function isIndexed(search: ResourceOptions['search']): search is IndexedSearch {
  return typeof search === 'object' && search !== null && !Array.isArray(search)
}

/**
 * Returns functions for the fields that a search of one principal reads, and for their index. The fields are those in the
 * option `search` without those that the principal may not read; then the index, which contains these, is not used.
 * Fields may belong to resources that are not built yet, so they are looked up when they are first needed.
 */
export function lazySearch(
  search: ResourceOptions['search'],
  viewOf: () => ResourceView | undefined,
): Pick<ResourceView, 'searchFields' | 'searchIndex'> {
  const paths = (isIndexed(search) ? search.fields : search) ?? []
  let fields: readonly SearchField[] | undefined
  const searchFields = (): readonly SearchField[] => {
    fields ??= paths.flatMap((path) => {
      const view = viewOf()
      const found = view && findSearchField(view, path)
      return found === undefined ? [] : [found]
    })
    return fields
  }
  if (!isIndexed(search)) return { searchFields, searchIndex: () => undefined }
  const { index: name, configuration = defaultConfiguration } = search
  return {
    searchFields,
    searchIndex: () => {
      const columns = searchFields().flatMap(({ field }) => field.columns)
      return columns.length === paths.length ? { name, columns, configuration } : undefined
    },
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
