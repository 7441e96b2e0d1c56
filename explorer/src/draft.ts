import type { FieldError } from './api'
import { isNullable, type Schema } from './document'
import { isList, isText, jsonError, limitError, parseInput } from './input'
import type { Field } from './model'

/**
 * Texts of a form's inputs, by field name; null if the user has chosen null, and rows for related records. Fields that the
 * user has not edited are missing and not sent.
 */
export type Draft = ReadonlyMap<string, string | null | Rows>

/** Related records in a form. */
export type Rows = readonly Row[]

/** A related record in a form. */
export interface Row {
  /** Identifies the row in the form. */
  readonly key: string
  /** Id of the record; undefined for a new one. */
  readonly id: unknown
  readonly draft: Draft
}

/** Inputs of a row. */
export function fieldsOfRow({ rows }: Field, { id }: Row): readonly Field[] {
  return (id === undefined ? rows?.create : rows?.update) ?? []
}

/** Text of the input of a field; undefined if the user has not edited it. */
export function textIn(draft: Draft, name: string): string | null | undefined {
  const text = draft.get(name)
  return isRows(text) ? undefined : text
}

/** The rows of a field; undefined if the user has not edited them. */
export function rowsIn(draft: Draft, name: string): Rows | undefined {
  const rows = draft.get(name)
  return isRows(rows) ? rows : undefined
}

function isRows(value: string | null | Rows | undefined): value is Rows {
  return typeof value === 'object' && value !== null
}

/** Copy of a draft for the request that the page shows, with passwords replaced. */
export function withoutPasswords(fields: readonly Field[], draft: Draft): Draft {
  const secret = fields.filter(({ name, schema }) => schema.format === 'password' && draft.get(name))
  const nested = fields.flatMap((field): [string, Rows][] => {
    const rows = rowsIn(draft, field.name)
    const without = rows?.map((row) => ({ ...row, draft: withoutPasswords(fieldsOfRow(field, row), row.draft) }))
    return without ? [[field.name, without]] : []
  })
  return new Map([...draft, ...secret.map(({ name }) => [name, '…'] as const), ...nested])
}

/**
 * Errors that are found without a request: text that is not JSON, which would be sent as a string, and limits.
 * @param path of the record in the body, such as `lines[3].`
 */
export function inputErrorsOf(fields: readonly Field[], draft: Draft, path = ''): readonly FieldError[] {
  return fields.flatMap((field) => {
    const { name, schema } = field
    const rows = rowsIn(draft, name)
    if (rows !== undefined) {
      return rows.flatMap((row, index) =>
        inputErrorsOf(fieldsOfRow(field, row), row.draft, `${path}${name}[${index}].`),
      )
    }
    const text = textIn(draft, name)
    const message = jsonError(schema, text) ?? limitError(schema, text)
    return message === undefined ? [] : [{ field: path + name, message }]
  })
}

/**
 * Errors for required values that are missing. They are only shown together with other errors, which the service would report in a
 * second step: alone, a missing value is no error if the service sets it.
 * @param isNew whether the record must have all required fields
 */
export function missingErrorsOf(
  fields: readonly Field[],
  draft: Draft,
  isNew: boolean,
  path = '',
): readonly FieldError[] {
  return fields.flatMap((field) => {
    const { name, schema, required } = field
    const rows = rowsIn(draft, name)
    if (rows !== undefined) {
      return rows.flatMap((row, index) =>
        missingErrorsOf(fieldsOfRow(field, row), row.draft, row.id === undefined, `${path}${name}[${index}].`),
      )
    }
    const text = textIn(draft, name)
    const isMissing = isNew && required && (text === undefined || isNothing(schema, text))
    return isMissing ? [{ field: path + name, message: 'is required' }] : []
  })
}

/** Whether a text means no value: it is empty, and the field is not text or a list. */
function isNothing(schema: Schema, text: string | null): boolean {
  return text === '' && !isText(schema) && !isList(schema)
}

/**
 * Body of the request for a draft. An empty input of a field that is not text or a list means no value: it is left out
 * of a POST, and null in a PUT if the field is nullable.
 */
export function bodyOf(fields: readonly Field[], draft: Draft, isNew: boolean): object {
  const body: Record<string, unknown> = {}
  for (const field of fields) {
    const { name, path, schema } = field
    const rows = rowsIn(draft, name)
    if (rows !== undefined) {
      body[name] = rows.map((row) => ({
        ...(row.id !== undefined && { id: row.id }),
        ...bodyOf(fieldsOfRow(field, row), row.draft, row.id === undefined),
      }))
    }
    const given = textIn(draft, name)
    if (given === undefined || (isNew && isNothing(schema, given))) continue
    const text = isNothing(schema, given) && isNullable(schema) ? null : given
    let at = body
    for (const part of path.slice(0, -1)) {
      at[part] ??= {}
      at = at[part] as Record<string, unknown>
    }
    at[path.at(-1) ?? name] = text === null ? null : parseInput(schema, text)
  }
  return body
}
