import type { FieldErrors } from '../errors'
import { type ParsedUpdate, parseUpdate, type ShownValue } from '../query/change-set'
import { renderField } from '../read/record'
import type { Row } from '../read/row'
import type { Store } from '../read/store'
import type { Body } from '../request/body'
import type { Field } from '../schema/field'
import type { ResourceView } from '../schema/resource-view'
import type { ReadColumn } from '../schema/stored-column'
import type { Change } from '../write/change'
import { validateChanges } from '../write/validate'
import type { WriteTarget } from '../write/write-store'
import { type FoundRecord, requiringUnchanged } from './item'

/** Update of a record that was read, before its foreign keys are checked. */
export interface PlannedUpdate {
  readonly change: Change
  /** Checks that the values that have decided the update are still the same. */
  readonly target: WriteTarget
}

/**
 * Parses and validates the fields of a body for an update: those whose values differ from the shown ones are changed.
 * @param found record that was read with `entityColumns`
 * @param row the record as `@AfterLoad` listeners show it
 * @param errors receives every error in the fields
 */
export async function planUpdate(
  store: Store,
  found: FoundRecord,
  row: Row,
  fields: Body,
  errors: FieldErrors,
): Promise<PlannedUpdate> {
  const { view } = store
  const update = parseUpdate(view, fields, shownIn(view, row), errors)
  await validateChanges(view, row, update.changes, errors)
  return {
    change: { action: 'update', values: update.changes, stored: found.row },
    target: requiringUnchanged(store, found, decidingColumns(view, update)),
  }
}

/**
 * Columns whose stored values decide what an update writes. These are the columns that are not written because the body has
 * the stored value, the columns of references that are written in part, also of hidden ones, and for validators all columns.
 * Without this check, two updates at the same time could store a record that neither of them allows.
 */
function decidingColumns(
  { validate, entityColumns, references }: ResourceView,
  { changes, kept }: ParsedUpdate,
): readonly ReadColumn[] {
  if (validate !== undefined) return entityColumns.filter(({ column }) => !column.isVirtualProperty)
  const written = new Set<ReadColumn>([...changes.keys()].flatMap(({ columns }) => columns))
  const isPartlyWritten = ({ columns }: Field): boolean =>
    columns.length > 1 && columns.some((column) => written.has(column))
  return [...kept, ...references.filter(isPartlyWritten)].flatMap(({ columns }) => columns)
}

/** Values that a record shows; undefined for hidden fields. */
function shownIn(view: ResourceView, row: Row): ShownValue {
  return (field) => (view.outputFields.includes(field) ? renderField(view, row, field) : undefined)
}
