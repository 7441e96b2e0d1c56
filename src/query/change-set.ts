import { isDeepStrictEqual } from 'node:util'
import { FieldErrors, ValueError } from '../errors'
import { type Body, membersOf } from '../request/body'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import { resolution } from '../value/date-time'
import { comparedJson, type Json } from '../value/value-type'
import type { Presets } from './presets'
import type { ChangeSet } from './query'
import { requireWritableField } from './require-field'

/** Returns the value that a stored record shows for a field; undefined for a hidden field. */
export type ShownValue = (field: Field) => Json | undefined

/**
 * Checks the body of a POST: names, values and missing fields
 * (specification: Strict types, Sending back what was read).
 * @param owner key of the user who will own the record, whatever the body contains
 * @param presets values that the application sets
 * @param errors receives every error in the body
 */
export function parseInsert(
  view: ResourceView,
  body: Body,
  owner: unknown,
  { values: presets, overriding }: Presets,
  errors: FieldErrors,
): ChangeSet {
  const flatBody = flatten(view, body, errors)
  const changes = planChanges(view, flatBody, errors, (field, json) => {
    if (!field.insertable) throw new ValueError('is read-only and cannot be given')
    // The option `preset` sets the field, whatever the body says.
    return overriding.has(field) ? unchanged : parseValue(view, field, json)
  })
  // The entity may declare a column of a foreign key that is preset.
  const presetColumns = new Set([...presets.keys()].flatMap(({ columns }) => columns.map(({ column }) => column)))
  const isPreset = ({ columns }: Field): boolean => columns.every(({ column }) => presetColumns.has(column))
  const hasValue = (field: Field): boolean => flatBody.has(field.name) || isPreset(field)
  // Listeners may fill in missing fields: `write/listener-writer.ts` checks the fields after they have run.
  if (!view.lifecycle.beforeInsert) addMissingFieldErrors(view, hasValue, errors)
  const preset = [...presets]
    .filter(([field]) => overriding.has(field) || !flatBody.has(field.name))
    .map(([field, value]) => [field, overriding.has(field) ? value : withGivenColumns(field, value, changes)] as const)
  for (const [field, value] of preset) changes.set(field, value)
  if (view.owner !== undefined) changes.set(view.owner, owner)
  return changes
}

/** The preset value of a field, with the values of its columns that the body sets through other fields. */
function withGivenColumns(field: Field, preset: unknown, given: ChangeSet): unknown {
  const { columns } = field
  if (columns.length === 1 || !Array.isArray(preset)) return preset
  return columns.map(({ column }, index) => {
    const other = [...given.keys()].find((one) => one.columns.length === 1 && one.columns[0]?.column === column)
    return other === undefined ? preset[index] : given.get(other)
  })
}

/**
 * The values that the body of a POST has for some fields. Nothing is reported: a value is undefined if it is not valid, or
 * if a new record cannot be given one.
 */
export function parseGivenValues(view: ResourceView, body: Body, fields: readonly Field[]): ChangeSet {
  const flatBody = flatten(view, body, new FieldErrors())
  const given = fields.filter(({ name }) => flatBody.has(name))
  const parse = (field: Field): unknown =>
    field.insertable
      ? new FieldErrors().try(field.name, () => parseValue(view, field, flatBody.get(field.name)))
      : undefined
  return new Map(given.map((field) => [field, parse(field)]))
}

/** Adds an error for each required field without a value (specification: Required fields). */
export function addMissingFieldErrors(
  view: ResourceView,
  hasValue: (field: Field) => boolean,
  errors: FieldErrors,
): void {
  for (const field of view.writableFields.values()) {
    if (field.required && field !== view.owner && !hasValue(field)) errors.add(field.name, 'is required')
  }
}

/** Checked body of a PUT. */
export interface ParsedUpdate {
  readonly changes: ChangeSet
  /** Fields that could be changed, but whose values in the body are those of the stored record. They are not written. */
  readonly kept: readonly Field[]
}

/**
 * Checks the body of a PUT, and leaves out values that are equal to the shown ones. So a date-time that is sent back
 * keeps its fraction (specification: Date-times), and read-only fields can be sent back
 * (specification: Sending back what was read).
 * @param errors receives every error in the body
 */
export function parseUpdate(view: ResourceView, body: Body, shownValue: ShownValue, errors: FieldErrors): ParsedUpdate {
  const kept: Field[] = []
  const changes = planChanges(view, flatten(view, body, errors), errors, (field, json) => {
    const shown = shownValue(field)
    const value = isDeepStrictEqual(json, shown) ? unchanged : parseValue(view, field, json)
    if (value === unchanged || isShownAs(field, value, shown)) {
      if (field.updatable) kept.push(field)
      return unchanged
    }
    if (field.updatable) return value
    if (isEqualTo(field, value, shown)) return unchanged
    throw new ValueError('is read-only and cannot be changed')
  })
  return { changes, kept }
}

/** Whether the database considers a value and a text in JSON equal, although the value is shown as another text. */
export function isEqualTo({ valueType }: Field, value: unknown, shown: unknown): boolean {
  if (valueType.toCompared === undefined || value === null || typeof shown !== 'string') return false
  return comparedJson(valueType, value) === valueType.toCompared(shown)
}

/** Marks a value that does not change the record. */
const unchanged = Symbol('unchanged')

/**
 * Replaces the objects of embedded entities by their members, with the names of their fields: `profile__city`.
 * @param prefix prefix of the names in `body`
 */
function flatten(view: ResourceView, body: Body, errors: FieldErrors, prefix = ''): Body {
  if (view.writableEmbedded.size === 0) return body
  const flat: [string, unknown][] = []
  for (const [part, json] of body) {
    if (errors.isFull) break
    const name = prefix + part
    if (view.writableEmbedded.has(name)) {
      if (isObject(json)) flat.push(...flatten(view, membersOf(json), errors, `${name}__`))
      else errors.add(name, 'must be an object')
    } else if (part.includes('__') && view.writableFields.has(name)) {
      const names = part.split('__')
      errors.add(name, `must be sent in an object: { "${names.join('": { "')}": …${' }'.repeat(names.length)}`)
    } else flat.push([name, json])
  }
  return new Map(flat)
}

function isObject(json: unknown): json is object {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** @param toValue returns the value to set, or `unchanged`; throws `ValueError` */
function planChanges(
  view: ResourceView,
  body: Body,
  errors: FieldErrors,
  toValue: (field: Field, json: unknown) => unknown,
): Map<Field, unknown> {
  const changes = new Map<Field, unknown>()
  for (const [name, json] of body) {
    if (errors.isFull) break
    errors.try(name, () => {
      const field = requireWritableField(view, name)
      // A body cannot change the owner (specification: Owners).
      const value = field === view.owner ? unchanged : toValue(field, json)
      if (value !== unchanged) changes.set(field, value)
    })
  }
  return changes
}

/** Parses the value of a field in a body. @throws {ValueError} */
export function parseValue(view: ResourceView, field: Field, json: unknown): unknown {
  if (json === null) {
    if (!field.nullable) throw new ValueError(`must be ${field.valueType.description}, not null`)
    // A foreign key that is null contains no key, which the transformer of the key could convert.
    if (field.relation === undefined) field.valueType.checkNull?.()
    return null
  }
  const value = field.valueType.fromJson(json)
  // The database does not check a foreign key that is null.
  const parts = field.columns.length === 1 ? [value] : (value as readonly unknown[])
  const isNull = ({ valueType }: StoredColumn, index: number): boolean =>
    valueType.nulls?.isStoredAsNull(parts[index]) === true
  if (field.relation !== undefined && field.columns.some(isNull)) {
    throw new ValueError(`points to no ${view.related(field.relation)?.name ?? 'record'}`)
  }
  const [column] = field.columns
  const isKey = field.columns.length === 1 && column !== undefined && view.key.columns.includes(column)
  if (isKey && !field.valueType.inPath?.test(encodeURIComponent(String(value)))) {
    throw new ValueError('is the key, and this value cannot be used in a URL path')
  }
  return value
}

/** Whether a record with this value shows `shown`. False for date-times with a fraction, which records do not show. */
function isShownAs(field: Field, value: unknown, shown: Json | undefined): boolean {
  return value !== null && !hasFraction(value) && isDeepStrictEqual(field.valueType.toJson(value), shown)
}

/** Whether a value is a date-time with a fraction of a second, or an array that contains one. */
function hasFraction(value: unknown): boolean {
  return Array.isArray(value) ? value.some(hasFraction) : value instanceof Date && resolution(value) < 1000
}
