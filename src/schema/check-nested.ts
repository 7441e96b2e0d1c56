import type { DataSource } from 'typeorm'
import type { Report } from '../errors'
import {
  findNested,
  type NestedContext,
  type NestedEntry,
  nextName,
  propertyOfEntry,
  totalName,
} from './nested-relations'
import type { Registration } from './registration'
import type { NestedRelation, ResourceView, ResourceViews } from './resource-view'

/** Reports mistakes in the option `nested` of all resources, when these are built (specification: Nested writes). */
export function checkNestedOptions(
  resources: ResourceViews,
  registrations: readonly Registration[],
  dataSource: DataSource,
  report: Report,
): void {
  const views = new Map([...resources.values()].map((view) => [view.metadata, view]))
  for (const registration of registrations) {
    const { metadata, options } = registration
    const view = views.get(metadata)
    if (options.nested === undefined || view === undefined) continue
    for (const mistake of mistakesIn(view, registration, options.nested, { dataSource, registrations })) {
      report(`${metadata.name}: ${mistake}`)
    }
  }
}

function mistakesIn(
  view: ResourceView,
  registration: Registration,
  nested: unknown,
  context: NestedContext,
): readonly string[] {
  if (!Array.isArray(nested) || !nested.every(isEntry)) {
    return [`"nested" must be an array of properties, or of { field, ids }, not ${JSON.stringify(nested)}`]
  }
  const properties = nested.map(propertyOfEntry)
  const repeated = new Set(properties.filter((property, index) => properties.indexOf(property) !== index))
  if (repeated.size > 0) return [...repeated].map((property) => `"nested" names "${property}" twice`)
  const found = nested.map((entry) => findNested(view, registration, entry, context))
  const relations = found.filter((one) => typeof one !== 'string')
  return [
    ...found.flatMap((one, index) =>
      typeof one === 'string' ? [`"nested" names "${properties[index]}", which ${one}`] : [],
    ),
    ...relations.flatMap((relation) => collisionsOf(view, relation, relations)),
  ]
}

function isEntry(entry: unknown): entry is NestedEntry {
  if (typeof entry === 'string') return true
  if (typeof entry !== 'object' || entry === null) return false
  const { field, ids, ...others } = entry as Partial<Record<string, unknown>>
  const isName = typeof ids === 'string' && /^[\p{L}\p{N}_]+$/u.test(ids) && !ids.includes('__')
  return typeof field === 'string' && isName && Object.keys(others).length === 0
}

/** Members of a body for a relation that are also names of something else. */
function collisionsOf(view: ResourceView, relation: NestedRelation, all: readonly NestedRelation[]): readonly string[] {
  const others = all.filter((one) => one !== relation)
  const property = relation.relation.propertyPath
  const isTaken = (name: string): boolean =>
    view.writableFields.has(name) ||
    view.writableEmbedded.has(name) ||
    view.embedded.has(name) ||
    (view.relations.has(name) && name !== property) ||
    others.some((other) => namesOf(other).includes(name))
  const advice =
    relation.type === 'links' ? `set another one with { field: "${property}", ids: "…" }` : 'rename one of them'
  return namesOf(relation)
    .filter(isTaken)
    .map(
      (name) => `"nested" names "${property}", whose member "${name}" of bodies has the name of another one: ${advice}`,
    )
}

/** The members of a body for a relation. What `include` adds to a record may be sent back. */
function namesOf({ type, name }: NestedRelation): readonly string[] {
  return type === 'links' ? [name] : [name, nextName(name), totalName(name)]
}
