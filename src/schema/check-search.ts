import type { EntityMetadata } from 'typeorm'
import type { Report } from '../errors'
import type { IndexedSearch } from '../resource'
import { mistakesOfIndex } from './check-search-index'
import { isPropertyOf } from './property'
import type { Registration } from './registration'
import { isToMany } from './relations'
import type { ResourceView, ResourceViews } from './resource-view'
import { entityOf, findSearchField, followPath, isIndexed } from './search-fields'

/** Limits of a request that apply to a search for a single word. */
export interface SearchLimits {
  readonly joins: number
  readonly patternCost: number
}

/** Reports mistakes in the option `search` of all resources, when these are built. */
export function checkSearchOptions(
  resources: ResourceViews,
  registrations: readonly Registration[],
  limits: SearchLimits,
  report: Report,
): void {
  const views = new Map([...resources.values()].map((view) => [view.metadata, view]))
  for (const { metadata, options } of registrations) {
    const view = views.get(metadata)
    if (options.search === undefined || view === undefined) continue
    const mistakes = isIndexed(options.search)
      ? mistakesOfIndexed(view, options.search, limits)
      : mistakesIn(view, options.search, limits)
    for (const mistake of mistakes) report(`${metadata.name}: ${mistake}`)
  }
}

/** Mistakes of the option with an index. Its members may have other types than those declared. */
function mistakesOfIndexed(
  view: ResourceView,
  { fields, index, configuration, ...others }: IndexedSearch,
  limits: SearchLimits,
): readonly string[] {
  const [unknown] = Object.keys(others)
  const names: readonly (readonly [string, unknown])[] = [
    ['index', index],
    ...(configuration === undefined ? [] : [['configuration', configuration] as const]),
  ]
  return [
    ...(unknown === undefined
      ? []
      : [`unknown option "${unknown}" in "search"; options: fields, index, configuration`]),
    ...names.flatMap(([option, value]) =>
      typeof value === 'string' && /^\w{1,63}$/.test(value)
        ? []
        : [`"search.${option}" must be a name of letters, digits and "_", not ${JSON.stringify(value)}`],
    ),
    ...mistakesIn(view, fields, limits, 'search.fields'),
    ...(isPathList(fields) ? mistakesOfIndex(view, fields, String(index)) : []),
  ]
}

function mistakesIn(view: ResourceView, search: unknown, limits: SearchLimits, option = 'search'): readonly string[] {
  if (!isPathList(search)) return [`"${option}" must be an array of properties, not ${JSON.stringify(search)}`]
  if (search.length === 0) return ['"search" must not be empty; name properties of text, or remove it']
  const repeated = new Set(search.filter((path, index) => search.indexOf(path) !== index))
  return [
    ...(view.fields.has('search')
      ? ['"search" is set, but a field has the name of its parameter "search": set another name with "rename"']
      : []),
    ...[...repeated].map((path) => `"search" names "${path}" twice`),
    ...[...new Set(search)].flatMap((path) => mistakeIn(view, path)),
    ...mistakesOfCost(view, search, limits),
  ]
}

function isPathList(search: unknown): search is readonly string[] {
  return Array.isArray(search) && search.every((path) => typeof path === 'string')
}

/** The mistake of one property path, if it has one. */
function mistakeIn(view: ResourceView, path: string): readonly string[] {
  if (findSearchField(view, path) !== undefined) return []
  const followed = followPath(view, path)
  const { target, rest } = followed
  const metadata = entityOf(followed, view.metadata)
  const toMany = metadata.relations.find((one) => isToMany(one) && `${rest}.`.startsWith(`${one.propertyPath}.`))
  if (toMany !== undefined) {
    return [
      `"search" names "${path}", which follows the relation "${toMany.propertyPath}" to many records; only relations to one record can be followed`,
    ]
  }
  const relation = metadata.relations.find((one) => rest.startsWith(`${one.propertyPath}.`))
  if (relation !== undefined) {
    const reason = 'which is hidden, or does not lead to a resource'
    return [`"search" names "${path}", which follows the relation "${relation.propertyPath}", ${reason}`]
  }
  if (target.outputFields.some(({ property }) => property === rest)) {
    return [`"search" names "${path}", which is not text`]
  }
  if (isPropertyOf(metadata, rest)) return [`"search" names "${path}", which ${whyUnusable(metadata, rest)}`]
  const known = target.outputFields.filter(({ valueType }) => valueType.operators.includes('ilike'))
  const names = known.map(({ property }) => property).join(', ')
  return [`unknown property "${path}" in "search"; text properties of ${metadata.name}: ${names}`]
}

/** Why a property of the entity cannot be searched although it is not shown as another type. */
function whyUnusable(metadata: EntityMetadata, property: string): string {
  const isEmbedded = metadata.columns.some(({ propertyPath }) => propertyPath.startsWith(`${property}.`))
  return isEmbedded ? 'is an embedded entity; name one of its properties' : 'is hidden'
}

/** The mistakes of an option that lets every search exceed a limit. */
function mistakesOfCost(view: ResourceView, search: readonly string[], limits: SearchLimits): readonly string[] {
  const joined = new Set(search.flatMap((path) => prefixesOf(followPath(view, path).steps)))
  const exceeds = (count: number, what: string, limit: keyof SearchLimits): readonly string[] =>
    count > limits[limit] ? [`"search" ${what}, more than "limits.${limit}" allows: ${limits[limit]}`] : []
  return [
    ...exceeds(joined.size, `joins ${joined.size} tables`, 'joins'),
    ...exceeds(search.length, `names ${search.length} properties`, 'patternCost'),
  ]
}

/** The paths of relations to each table that a path joins. */
function prefixesOf(steps: ReturnType<typeof followPath>['steps']): readonly string[] {
  return steps.map((_, index) =>
    steps
      .slice(0, index + 1)
      .map(({ relation }) => relation.propertyPath)
      .join('/'),
  )
}
