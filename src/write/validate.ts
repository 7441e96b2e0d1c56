import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../query/query'
import { assign, newEntity, toEntity } from '../read/entity'
import type { Row } from '../read/row'
import type { Resource } from '../schema/registry'
import { isAbout } from '../schema/validation'

/**
 * Runs the entity's validators on the record as it would be stored. Violations that the stored record already has, in
 * fields that the request does not change, are not reported: a client can send back what it has read
 * (specification: Sending back what was read).
 * @param row the stored record; undefined for a new one
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
  const violations = await validate(entity)
  if (violations.length === 0) return
  const storedViolations = row === undefined ? [] : await validate(toEntity(resource, row))
  const changedFields = [...changes.keys()]
  for (const violation of violations) {
    const changedField = changedFields.find((one) => isAbout(one, violation))
    const shownField = outputFields.find((one) => isAbout(one, violation))
    const isInStoredRecord = storedViolations.some(
      ({ property, message }) => property === violation.property && message === violation.message,
    )
    if (changedField !== undefined) errors.add(changedField.name, violation.message)
    else if (shownField !== undefined && !isInStoredRecord) errors.add(shownField.name, violation.message)
  }
}
