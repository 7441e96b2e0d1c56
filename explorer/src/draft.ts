import { parseInput } from './input'
import type { Field } from './model'

/** What is in the inputs: a text, or null. Fields that nobody has touched are not in it, and are not sent. */
export type Draft = ReadonlyMap<string, string | null>

/** What the page shows in its request, where others may look on. */
export function withoutPasswords(fields: readonly Field[], draft: Draft): Draft {
  const secret = fields.filter(({ name, schema }) => schema.format === 'password' && draft.get(name))
  return new Map([...draft, ...secret.map(({ name }) => [name, '…'] as const)])
}

/** What is sent of it. */
export function bodyOf(fields: readonly Field[], draft: Draft): object {
  const body: Record<string, unknown> = {}
  for (const { name, path, schema } of fields) {
    const text = draft.get(name)
    if (text === undefined) continue
    let at = body
    for (const part of path.slice(0, -1)) {
      at[part] ??= {}
      at = at[part] as Record<string, unknown>
    }
    at[path.at(-1) ?? name] = text === null ? null : parseInput(schema, text)
  }
  return body
}
