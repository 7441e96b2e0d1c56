import type { DataSource, EntityMetadata } from 'typeorm'
import type { Rule } from '../access/rule'
import type { AccountSource } from './account-source'
import type { FieldPermissionsByEntity } from './field-permissions'
import type { Registration } from './registration'
import type { ResourceView } from './resource-view'

/** What is known of a mount before its resources are built. */
export interface ScanContext {
  readonly dataSource: DataSource
  readonly defaultAuth: Rule
  readonly accounts: AccountSource | undefined
  /** All entities that are resources, with their options as they apply to the principals of the views. */
  readonly registrations: readonly Registration[]
  readonly fieldPermissions: FieldPermissionsByEntity
  /** End of the cache keys of the views, which distinguishes them from those of principals with other permissions. */
  readonly viewSuffix: string
  /** Whether a user entity is configured, even if its configuration has mistakes (then `accounts` may be undefined). */
  readonly hasUsers: boolean
  /** Whether the access rule of every resource must permit reading it through relations. */
  readonly strictRelations: boolean
}

/** The data that building any resource of a mount requires. */
export interface MountContext extends ScanContext {
  /** The resources that have been built so far. It is complete when the last one has been built. */
  readonly byEntity: ReadonlyMap<EntityMetadata, ResourceView>
}
