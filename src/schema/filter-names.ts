import type { EntityMetadata } from 'typeorm'
import type { Report } from '../errors'
import { buildFields, buildOutputFields } from './build-fields'
import type { ScanContext } from './context'
import { type Field, prefixesOf } from './field'
import { lifecycleOf } from './lifecycle'
import type { RelationMetadata } from './metadata'
import { buildRelations } from './relations'
import type { FilterNames } from './resource-view'

/** The names that filters may use, from the fields and relations. */
export function buildFilterNames(
  outputFields: readonly Field[],
  relations: ReadonlyMap<string, RelationMetadata>,
): Pick<FilterNames, 'outputFields' | 'fields' | 'embedded' | 'relations'> {
  const paths = [...outputFields.map(({ path }) => path), ...[...relations.keys()].map((name) => name.split('__'))]
  return {
    outputFields,
    fields: fieldsByName(outputFields),
    embedded: new Set(paths.flatMap(prefixesOf)),
    relations,
  }
}

/**
 * The fields by the names that filters may use. A foreign key has two names, with and without `_id`
 * (specification: Names of filters).
 */
function fieldsByName(outputFields: readonly Field[]): ReadonlyMap<string, Field> {
  const references = outputFields.filter((field) => field.relation !== undefined)
  // A field takes precedence over a foreign key whose name without `_id` is the same: fields are added last.
  return new Map([
    ...references.map((field) => [field.name.replace(/_id$/, ''), field] as const),
    ...outputFields.map((field) => [field.name, field] as const),
  ])
}

/**
 * Returns a function for the names that filter objects of the application may use on an entity: all fields and
 * relations, also hidden ones and those to entities that are not resources (specification: Filter objects).
 */
export function allFilterNames(context: ScanContext): (metadata: EntityMetadata) => FilterNames {
  const byEntity = new Map<EntityMetadata, FilterNames>()
  const namesOf = (metadata: EntityMetadata): FilterNames => {
    const known = byEntity.get(metadata)
    if (known !== undefined) return known
    const registered = context.registrations.find((one) => one.metadata === metadata)
    const { name, rename } = registered?.options ?? {}
    const registration = { metadata, options: rename === undefined ? {} : { rename } }
    const { shown, hidden } = buildFields(registration, context, ignore)
    const names: FilterNames = {
      name: name ?? metadata.name.toLowerCase(),
      lifecycle: lifecycleOf(metadata, context.dataSource),
      ...buildFilterNames(buildOutputFields(registration, [...shown, ...hidden], ignore), buildRelations(registration)),
      related: ({ inverseEntityMetadata }) => namesOf(inverseEntityMetadata),
      rowScope: undefined,
      isGuarded: false,
    }
    byEntity.set(metadata, names)
    return names
  }
  return namesOf
}

/** Mistakes in the configuration of a resource are reported when the resource is built. */
const ignore: Report = () => undefined
