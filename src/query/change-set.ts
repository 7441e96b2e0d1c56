import { isDeepStrictEqual } from 'node:util'
import { type FieldErrors, ValueError } from '../errors'
import { type Body, membersOf } from '../request/body'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { resolution } from '../value/date-time'
import type { Json } from '../value/value-type'
import type { ChangeSet } from './query'
import { requireField } from './require-field'

/** What a stored record shows for a field; undefined for a hidden one. */
export type ShownValue = (field: Field) => Json | undefined

/**
 * Checks the body of a POST: every name, every value, everything that is missing (specification: Strict types, Sending back what was read).
 * @param owner the key of the user the record will belong to, whatever the body says
 */
export function planInsert(resource: Resource, body: Body, owner: unknown, errors: FieldErrors): ChangeSet {
  const given = flatten(resource, body, errors)
  const changes = new Map(
    planChanges(resource, given, errors, (field, json) => {
      if (!field.insertable) throw new ValueError('is read-only and cannot be given')
      return parseValue(resource, field, json)
    }),
  )
  const isGiven = ({ name }: Field): boolean => given.has(name)
  // What listeners may still fill in is looked for behind them.
  if (!resource.lifecycle.beforeInsert) addMissing(resource, isGiven, errors)
  if (resource.owner !== undefined) changes.set(resource.owner, owner)
  return changes
}

/** Notes the required fields that are not there (specification: Required fields). */
export function addMissing(resource: Resource, isThere: (field: Field) => boolean, errors: FieldErrors): void {
  for (const field of resource.writableFields.values()) {
    if (field.required && field !== resource.owner && !isThere(field)) errors.add(field.name, 'is required')
  }
}

/**
 * Checks the body of a PUT, and leaves out what it does not change: so that a date-time sent back as it was shown keeps its
 * fraction (specification: Date-times), and read-only fields can be sent back (specification: Sending back what was read).
 */
export function planUpdate(resource: Resource, body: Body, shownValue: ShownValue, errors: FieldErrors): ChangeSet {
  return planChanges(resource, flatten(resource, body, errors), errors, (field, json) => {
    const shown = shownValue(field)
    if (isDeepStrictEqual(json, shown)) return unchanged
    const value = parseValue(resource, field, json)
    if (isShownAs(field, value, shown)) return unchanged
    if (!field.updatable) throw new ValueError('is read-only and cannot be changed')
    return value
  })
}

const unchanged = Symbol('unchanged')

/** Names the values of embedded entities, which stand in objects of their own: `profile__city`. */
function flatten(resource: Resource, body: Body, errors: FieldErrors, within = ''): Body {
  const flat: [string, unknown][] = []
  for (const [part, json] of body) {
    if (errors.isFull) break
    const name = within + part
    if (resource.embedded.has(name)) {
      if (isObject(json)) flat.push(...flatten(resource, membersOf(json), errors, `${name}__`))
      else errors.add(name, 'must be an object')
    } else if (part.includes('__') && resource.writableFields.has(name)) {
      const names = part.split('__')
      errors.add(name, `is given in an object: { "${names.join('": { "')}": …${' }'.repeat(names.length)}`)
    } else flat.push([name, json])
  }
  return new Map(flat)
}

function isObject(json: unknown): json is object {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** @param take the value to set, or `unchanged`; throws `ValueError` */
function planChanges(
  resource: Resource,
  body: Body,
  errors: FieldErrors,
  take: (field: Field, json: unknown) => unknown,
): ChangeSet {
  const changes = new Map<Field, unknown>()
  for (const [name, json] of body) {
    if (errors.isFull) break
    errors.try(name, () => {
      const field = requireField(resource, resource.writableFields, name)
      // The owner is who it is, whatever the body says (specification: Owners).
      const value = field === resource.owner ? unchanged : take(field, json)
      if (value !== unchanged) changes.set(field, value)
    })
  }
  return changes
}

function parseValue(resource: Resource, field: Field, json: unknown): unknown {
  if (json === null) {
    if (field.nullable) return null
    throw new ValueError(`must be ${field.valueType.description}, not null`)
  }
  const value = field.valueType.fromJson(json)
  const [column] = field.columns
  const isKey = field.columns.length === 1 && column !== undefined && resource.key.columns.includes(column)
  if (isKey && !field.valueType.inPath?.test(encodeURIComponent(String(value)))) {
    throw new ValueError('is the key, and this value cannot stand in a path')
  }
  return value
}

/** Whether a value is shown so. A date-time with a fraction says more than is shown. */
function isShownAs(field: Field, value: unknown, shown: Json | undefined): boolean {
  if (value === null || (value instanceof Date && resolution(value) < 1000)) return false
  return isDeepStrictEqual(field.valueType.toJson(value), shown)
}
