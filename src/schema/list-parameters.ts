/** Parameters that combine filters. */
export const groupNames = ['or', 'and', 'not'] as const
export type GroupName = (typeof groupNames)[number]

/** Parameters of every list. A field of such a name is compared with an operator: `limit__eq`. */
export const reservedNames: ReadonlySet<string> = new Set(['ordering', 'limit', 'page', ...groupNames])

/** Parameters of the lists that have no field of that name. */
export const optionalNames = ['after', 'count'] as const
export type OptionalName = (typeof optionalNames)[number]
