import { isDeepStrictEqual } from 'node:util'
import { type Faults, ValueError } from '../errors'
import type { Body } from '../request/body'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { resolution } from '../value/date-time'
import type { Json } from '../value/kind'
import type { ChangeSet } from './plan'
import { readKey } from './select-plan'

/** A stored record as its resource shows it. */
export type StoredRecord = Readonly<Record<string, Json>>

/**
 * Checks the body of a POST: every name, every value, everything that is missing (D7 to D9).
 * @param owner the key of the user the record will belong to, whatever the body says
 */
export function planInsert(resource: Resource, body: Body, owner: unknown, faults: Faults): ChangeSet {
  const changes = new Map<Field, unknown>()
  for (const [name, json] of body) {
    if (faults.full) break
    faults.try(name, () => {
      const field = findInput(resource, name)
      if (field === resource.owner) return
      if (!field.insertable) throw new ValueError('is read-only and cannot be given')
      const value = readValue(field, json)
      if (field === resource.key && !isAddressable(resource, value)) {
        throw new ValueError('is the key, and this value cannot stand in a path')
      }
      changes.set(field, value)
    })
  }
  for (const field of resource.inputs.values()) {
    if (field.required && field !== resource.owner && !body.has(field.name)) faults.add(field.name, 'is required')
  }
  if (resource.owner !== undefined) changes.set(resource.owner, owner)
  return changes
}

/**
 * Checks the body of a PUT, and leaves out what it does not change: so that a date-time sent back as it was shown keeps its
 * fraction (D11), and read-only fields can be sent back (D9).
 */
export function planUpdate(resource: Resource, body: Body, stored: StoredRecord, faults: Faults): ChangeSet {
  const changes = new Map<Field, unknown>()
  for (const [name, json] of body) {
    if (faults.full) break
    faults.try(name, () => {
      const field = findInput(resource, name)
      if (field === resource.owner) return
      if (isDeepStrictEqual(json, stored[name])) return
      const value = readValue(field, json)
      if (isUnchanged(field, value, stored)) return
      if (!field.updatable) throw new ValueError('is read-only and cannot be changed')
      changes.set(field, value)
    })
  }
  return changes
}

/** Whether the record of this key could be asked for. */
function isAddressable(resource: Resource, key: unknown): boolean {
  return readKey(resource, encodeURIComponent(String(key))) !== undefined
}

/** Whether a value is the one shown. A date-time with a fraction says more than is shown, and so changes it. */
function isUnchanged(field: Field, value: unknown, stored: StoredRecord): boolean {
  if (!Object.hasOwn(stored, field.name)) return false
  if (value instanceof Date && resolution(value) < 1000) return false
  return isDeepStrictEqual(value === null ? null : field.kind.toJson(value), stored[field.name])
}

function findInput(resource: Resource, name: string): Field {
  const field = resource.inputs.get(name)
  if (field !== undefined) return field
  const names = resource.record.map((shown) => shown.name).join(', ')
  throw new ValueError(`is not a field of ${resource.name}; fields: ${names}`)
}

function readValue(field: Field, json: unknown): unknown {
  if (json !== null) return field.kind.fromJson(json)
  if (!field.nullable) throw new ValueError(`must be ${field.kind.description}, not null`)
  return null
}
