import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../query/query'
import { assign, newEntity, toEntity } from '../read/entity'
import type { Row } from '../read/row'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import { concernsField } from '../schema/validation'

/**
 * Runs the entity's validators on the record as it would be stored. Violations that the stored record already has, in
 * fields that the request does not change, are not reported: a client can send back what it has read
 * (specification: Sending back what was read).
 * @param row the stored record; undefined for a new one
 * @param isUnknown whether the value of a field is not known yet, so that violations by it are not reported. Default: all
 * values are known
 */
export async function validateChanges(
  view: ResourceView,
  row: Row | undefined,
  changes: ChangeSet,
  errors: FieldErrors,
  isUnknown: (field: Field) => boolean = () => false,
): Promise<void> {
  const { validate, outputFields } = view
  if (validate === undefined || (row !== undefined && changes.size === 0)) return
  const entity = row === undefined ? newEntity(view, changes) : toEntity(view, row)
  if (row !== undefined) assign(entity, changes)
  const violations = await validate(entity)
  if (violations.length === 0) return
  const storedViolations = row === undefined ? [] : await validate(toEntity(view, row))
  // Values of fields that a body cannot contain, such as presets and the owner, come from the application.
  const changedFields = [...changes.keys()].filter((field) => view.writableFields.get(field.name) === field)
  for (const violation of violations) {
    const changedField = changedFields.find((one) => concernsField(one, violation))
    const shownField = outputFields.find((one) => concernsField(one, violation))
    if (shownField !== undefined && isUnknown(shownField)) continue
    const isInStoredRecord = storedViolations.some(
      ({ property, message }) => property === violation.property && message === violation.message,
    )
    if (changedField !== undefined) errors.add(changedField.name, violation.message)
    else if (shownField !== undefined && !isInStoredRecord) errors.add(shownField.name, violation.message)
  }
}
