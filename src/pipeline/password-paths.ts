import { maxNestedLevels } from '../query/nested-body'
import type { ResourceView } from '../schema/resource-view'
import { passwordFieldOf } from './hash-passwords'
import { memberOf, membersNamed } from './related-rules'

/**
 * Paths of the passwords in a body, also of those of its related records: `people[0].password`.
 * @param body members of a parsed body, or an object of JSON
 */
export function passwordPaths(view: ResourceView, body: unknown, level = 0): readonly string[] {
  const field = passwordFieldOf(view)
  const own = field !== undefined && memberOf(body, field.name) !== undefined ? [field.name] : []
  if (level === maxNestedLevels) return own
  const lists = [...view.nested().values()].filter(({ type }) => type === 'list')
  const inner = lists.flatMap(({ name, target }) =>
    membersNamed(body, name).flatMap((record, index) =>
      passwordPaths(target, record, level + 1).map((path) => `${name}[${index}].${path}`),
    ),
  )
  return [...own, ...inner]
}
