import { includableRelations, isFreeName, leadsToOne } from '../query/build-inclusion'
import type { RelationMetadata } from '../schema/metadata'
import type { ResourceView } from '../schema/resource-view'

/** A relation and its name in filters. */
export type Reference = readonly [name: string, relation: RelationMetadata]

/**
 * Foreign keys by their name in filters: without `_id`, unless another field has that name
 * (specification: Names of filters).
 */
export function references({ outputFields, fields }: ResourceView): readonly Reference[] {
  return outputFields.flatMap((field) => {
    const { name, relation } = field
    const shortName = name.replace(/_id$/, '')
    return relation ? [[fields.get(shortName) === field ? shortName : name, relation] as const] : []
  })
}

/** The relations that `include` may name; empty if the resource does not have this parameter. */
export function includedRelations(view: ResourceView): ReturnType<typeof includableRelations> {
  if (!view.optionalParameters.has('include')) return new Map()
  const all = [...includableRelations(view)]
  return new Map(all.filter(([name, { relation }]) => leadsToOne(relation) || isFreeName(view, `${name}_next`)))
}

/** Escapes a text for a regular expression. */
export function escapeRegex(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
}
