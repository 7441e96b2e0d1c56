import { maxNestedLevels } from '../query/nested-body'
import type { FilterNames, Resource, ResourceView } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import { guardedTarget } from '../write/reference-lookups'
import { newKeyFieldsOf } from './new-key-fields'
import type { PermittedRequest } from './service'

/**
 * Calls the access rules of other resources that a write may need: of its related records, and of the records to which its
 * foreign keys and links refer. Rules may run statements of their own, which would wait for the end of the
 * transaction of the write, or for one more connection. The request stores their decisions: a refusal has an effect only if
 * the write needs the permission.
 * @param bodies only the rules for the members of these bodies are called. Default: those for all members
 */
export async function callRelatedRules(request: PermittedRequest, bodies?: readonly unknown[]): Promise<void> {
  const { store, method, resource, parameters } = request
  const isUpsert = parameters.onConflict !== undefined
  const call = async (view: Resource, methods: readonly string[]): Promise<void> => {
    for (const one of methods) await request.principalFor(view, one).catch(() => undefined)
  }
  const ownMethods = [...(isUpsert ? ['PATCH'] : []), ...(newKeyFieldsOf(request) === undefined ? [] : ['POST'])]
  const nestedMethods = [
    'POST',
    ...(isUpsert ? ['PATCH'] : []),
    ...(method === 'POST' ? [] : [method]),
    ...(method === 'PUT' ? ['DELETE'] : []),
  ]

  const callOf = async (view: ResourceView, some: readonly unknown[] | undefined, level: number): Promise<void> => {
    // Fast path: for most resources, the bodies of an array need not be traversed.
    if (view.nested().size === 0 && view.references.every((field) => guardedTarget(view, field) === undefined)) return
    const names = some && namesIn(some)
    const isGiven = (name = ''): boolean => names === undefined || names.has(name)
    const written = new Set(
      [...view.writableFields.values()].flatMap(({ path, columns }) => (isGiven(path[0]) ? columns : [])),
    )
    const members = [...view.nested().values()].filter(({ name }) => isGiven(name))
    const links = members.flatMap(({ type, target }) => (type === 'links' ? [target] : []))
    const referred = [...referredViews(view, written), ...links]
    await store.policies?.checkAccess(referred.filter(({ isGuarded }) => isGuarded))
    for (const { type, target, name } of members) {
      if (type === 'links' || level === maxNestedLevels) continue
      await call(target, nestedMethods)
      await callOf(
        target,
        some?.flatMap((body) => membersNamed(body, name)),
        level + 1,
      )
    }
  }

  await call(resource, ownMethods)
  await callOf(store.view, bodies, 0)
}

/** The resources to which foreign keys with these columns refer. */
function referredViews(
  { references, related }: ResourceView,
  written: ReadonlySet<StoredColumn>,
): readonly FilterNames[] {
  return references.flatMap(({ relation, columns }) => {
    const target = relation && columns.some((column) => written.has(column)) ? related(relation) : undefined
    return target === undefined ? [] : [target]
  })
}

/** The names of the members of all bodies. Arrays of them would take more memory than the bodies of a large array. */
function namesIn(bodies: readonly unknown[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const body of bodies) {
    if (body instanceof Map) for (const name of body.keys()) names.add(name)
    else if (typeof body === 'object' && body !== null) for (const name of Object.keys(body)) names.add(name)
  }
  return names
}

/** The member of a body with a name. */
export function memberOf(body: unknown, name: string): unknown {
  if (body instanceof Map) return body.get(name)
  return Object.hasOwn(Object(body), name) ? (body as Readonly<Record<string, unknown>>)[name] : undefined
}

/** The objects in an array that is a member of a body. */
export function membersNamed(body: unknown, name: string): readonly unknown[] {
  const json = memberOf(body, name)
  return Array.isArray(json) ? json : []
}
