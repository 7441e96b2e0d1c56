import type { FieldError } from './api'
import { isNullable } from './document'
import { isList, isText, jsonFault, limitFault, parseInput } from './input'
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

/** Errors that are found without a request: text that is not JSON, which would be sent as a string, and limits. */
export function faultsOf(fields: readonly Field[], draft: Draft): readonly FieldError[] {
  return fields.flatMap(({ name, schema }) => {
    const message = jsonFault(schema, draft.get(name)) ?? limitFault(schema, draft.get(name))
    return message === undefined ? [] : [{ field: name, message }]
  })
}

/**
 * Body of the request for a draft. An empty input of a field that is not text or a list means no value: it is left out
 * of a POST, and null in a PUT if the field is nullable.
 */
export function bodyOf(fields: readonly Field[], draft: Draft, isNew: boolean): object {
  const body: Record<string, unknown> = {}
  for (const { name, path, schema } of fields) {
    const given = draft.get(name)
    const isNothing = given === '' && !isText(schema) && !isList(schema)
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
