import type { FieldError } from './api'
import { isNullable } from './document'
import { isJsonFor, isText, parseInput } from './input'
import type { Field } from './model'

/**
 * Texts of a form's inputs, by field name; null if the user has chosen null. Fields that the user has not edited are
 * missing and not sent.
 */
export type Draft = ReadonlyMap<string, string | null>

/** Copy of a draft for the request that the page shows, with passwords replaced. */
export function withoutPasswords(fields: readonly Field[], draft: Draft): Draft {
  const secret = fields.filter(({ name, schema }) => schema.format === 'password' && draft.get(name))
  return new Map([...draft, ...secret.map(({ name }) => [name, '…'] as const)])
}

/** Errors of fields that accept any JSON and have other text, which would be sent as a string. */
export function faultsOf(fields: readonly Field[], draft: Draft): readonly FieldError[] {
  const message = 'must be JSON; a text stands in double quotes'
  return fields
    .filter(({ name, schema }) => !isJsonFor(schema, draft.get(name)))
    .map(({ name }) => ({ field: name, message }))
}

/**
 * Body of the request for a draft. An empty input of a field that is not text means no value: it is left out of a POST,
 * and null in a PUT if the field is nullable.
 */
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
