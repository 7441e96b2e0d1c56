/** Names of the parameters that combine filters. */
export const groupNames = ['or', 'and', 'not'] as const
export type GroupName = (typeof groupNames)[number]

/**
 * Names of the parameters of every list. A filter on a field with one of these names needs an operator: `limit__eq`.
 */
export const reservedNames: ReadonlySet<string> = new Set(['ordering', 'limit', 'page', ...groupNames])

/** Names of parameters that a list has only if no field has the same name. */
export const optionalNames = ['after', 'count', 'fields', 'include', 'aggregate', 'by', 'format'] as const
/**
 * `search` is a parameter only of lists of resources with the option `search`, and `deleted` only for principals whom
 * `may.restore` may permit. There it is the parameter, even if a field has the same name.
 */
export type OptionalName = (typeof optionalNames)[number] | 'search' | 'deleted'
