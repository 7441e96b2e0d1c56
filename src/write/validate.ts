import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../query/query'
import { assign, newEntity, toEntity } from '../read/entity'
import type { Row } from '../read/row'
import type { Resource } from '../schema/registry'
import { isAbout } from '../schema/validation'

/**
 * Checks what would be stored by the entity's validators. Of what a record had wrong before, and the request does not change,
 * nothing is said: what was read can be sent back (specification: Sending back what was read).
 * @param row the record to change; undefined for a new one
 */
export async function validateChanges(
  resource: Resource,
  row: Row | undefined,
  changes: ChangeSet,
  errors: FieldErrors,
): Promise<void> {
  const { validate, outputFields } = resource
  if (validate === undefined || (row !== undefined && changes.size === 0)) return
  const entity = row === undefined ? newEntity(resource, changes) : toEntity(resource, row)
  if (row !== undefined) assign(entity, changes)
  const found = await validate(entity)
  if (found.length === 0) return
  const before = row === undefined ? [] : await validate(toEntity(resource, row))
  const given = [...changes.keys()]
  for (const violation of found) {
    const field = given.find((one) => isAbout(one, violation))
    const shown = outputFields.find((one) => isAbout(one, violation))
    const isOld = before.some(
      ({ property, message }) => property === violation.property && message === violation.message,
    )
    if (field !== undefined) errors.add(field.name, violation.message)
    else if (shown !== undefined && !isOld) errors.add(shown.name, violation.message)
  }
}
