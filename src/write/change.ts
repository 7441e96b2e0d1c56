import type { ChangeSet } from '../query/query'
import type { Row } from '../read/row'
import type { WriteAction } from '../schema/resource-view'

/** A write of one record that a request requires, before it runs. */
export interface Change {
  readonly action: WriteAction
  /** The values to write, by field; empty for a deletion. */
  readonly values: ChangeSet
  /**
   * The values of `entityColumns` before an update, or of a new record after the write. Undefined for a record that is not
   * written yet, and for a deletion and an update of several records, which need no stored values.
   */
  readonly stored: Row | undefined
  /** Values that the application has set, which the principal need not be able to refer to. */
  readonly presets?: ChangeSet | undefined
}

/** The change of a deletion. */
export const deletion: Change = { action: 'delete', values: new Map(), stored: undefined }
