/**
 * Whether an entry is a group of filters. A field may also be called `or`, `and` or `not`: its value is not an object.
 */
export function isGroup(name: string, value: unknown): value is object | undefined {
  return /^(or|and|not)$/.test(name) && (value === undefined || typeof value === 'object')
}

/** Value of a parameter `or`, `and` or `not`. An object with several filters becomes a nested `and`. */
export function groupOf(group: object): string {
  const members = Array.isArray(group) ? group.map((filters) => conjunction(membersOf(filters))) : membersOf(group)
  return `(${members.join()})`
}

function conjunction(members: readonly string[]): string {
  return members.length === 1 ? String(members[0]) : `and(${members.join()})`
}

/** Filters in the syntax of groups: `status:open`, `id__in:(1,2)`. Undefined values are left out. */
export function membersOf(filters: object): readonly string[] {
  return Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      if (isGroup(name, value)) return name + groupOf(value ?? {})
      return `${name}:${operandOf(value)}`
    })
}

/** A value after a colon. An array becomes a list in parentheses. */
export function operandOf(value: unknown): string {
  return Array.isArray(value) ? `(${value.map(memberOf).join()})` : quoted(textOf(value))
}

export function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

/** Puts a value in double quotes if it contains syntax of groups or lists (specification: Operators, Groups). */
function quoted(text: string): string {
  return /[",()]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Member of a comma-separated list. The empty string is `""`. */
export function memberOf(value: unknown): string {
  return quoted(textOf(value)) || '""'
}
