import type { DataSource, EntityMetadata } from 'typeorm'
import type { Rule } from '../access/rule'
import type { AccountSource } from './account-source'
import type { Registration } from './registration'
import type { Resource } from './registry'

/** What all resources of a mount are built with. */
export interface MountContext {
  readonly dataSource: DataSource
  readonly defaultAuth: Rule
  readonly accounts: AccountSource | undefined
  /** All entities that are resources, and their options. */
  readonly registrations: readonly Registration[]
  /** Whether the users' entity was named, though perhaps by mistake. */
  readonly hasUsers: boolean
  /** All resources, complete once the last one is built. */
  readonly byEntity: ReadonlyMap<EntityMetadata, Resource>
}
