import type { DataSource, EntityMetadata } from 'typeorm'
import type { Authenticator } from '../access/authenticator'
import type { Rule } from '../access/rule'
import type { Report } from '../errors'
import type { AccountSource } from './account-source'
import type { ApiKeySource } from './api-key-source'
import type { FieldPermissionsByEntity } from './field-permissions'
import type { Registration } from './registration'
import type { PolicyFunction, ResourceView } from './resource-view'

/** Reports the mistakes in a policy that is a constant. */
export type CheckPolicy = (policy: PolicyFunction, report: Report) => void

/** What is known of a mount before its resources are built. */
export interface ScanContext {
  readonly dataSource: DataSource
  readonly defaultAuth: Rule
  readonly authenticators: readonly Authenticator[]
  readonly accounts: AccountSource | undefined
  /** The entities with `@ApiKeys`. */
  readonly apiKeys: readonly ApiKeySource[]
  /** All entities that are resources, with their options as they apply to the principals of the views. */
  readonly registrations: readonly Registration[]
  readonly fieldPermissions: FieldPermissionsByEntity
  /** Checks a constant in the option `may`, whose names only `query/` can resolve. */
  readonly checkPolicy: CheckPolicy
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
