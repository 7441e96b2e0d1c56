import type { FieldError } from './api'
import { isNullable } from './document'
import { isJsonFor, isText, parseInput } from './input'
import type { Field } from './model'

/** What is in the inputs: a text, or null. Fields that nobody has touched are not in it, and are not sent. */
export type Draft = ReadonlyMap<string, string | null>

/** What the page shows in its request, where others may look on. */
export function withoutPasswords(fields: readonly Field[], draft: Draft): Draft {
  const secret = fields.filter(({ name, schema }) => schema.format === 'password' && draft.get(name))
  return new Map([...draft, ...secret.map(({ name }) => [name, '…'] as const)])
}

/** What is no JSON where any can be: the service would take it for a text. */
export function faultsOf(fields: readonly Field[], draft: Draft): readonly FieldError[] {
  const message = 'must be JSON; a text stands in double quotes'
  return fields
    .filter(({ name, schema }) => !isJsonFor(schema, draft.get(name)))
    .map(({ name }) => ({ field: name, message }))
}

/** What is sent of it. An input that is empty again is no value, unless texts are: it is left out, or null in the place of one. */
export function bodyOf(fields: readonly Field[], draft: Draft, isNew: boolean): object {
  const body: Record<string, unknown> = {}
  for (const { name, path, schema } of fields) {
    const given = draft.get(name)
    const isNothing = given === '' && !isText(schema)
    if (given === undefined || (isNothing && isNew)) continue
    const text = isNothing && isNullable(schema) ? null : given
    let at = body
    for (const part of path.slice(0, -1)) {
      at[part] ??= {}
      at = at[part] as Record<string, unknown>
    }
    at[path.at(-1) ?? name] = text === null ? null : parseInput(schema, text)
  }
  return body
}
