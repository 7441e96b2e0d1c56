import type { ChangeSet, Target } from '../plan/plan'
import type { Resource } from '../schema/registry'
import type { Row } from './row'
import type { Session } from './statement'

/** A way to write one record. Rows come back as they are stored. */
export interface Writer {
  readonly insert: (session: Session, resource: Resource, changes: ChangeSet) => Promise<Row>
  /** @returns undefined when there is none for the target any more */
  readonly update: (
    session: Session,
    resource: Resource,
    target: Target,
    changes: ChangeSet,
  ) => Promise<Row | undefined>
  /** @returns whether there was one for the target */
  readonly remove: (session: Session, resource: Resource, target: Target) => Promise<boolean>
}
