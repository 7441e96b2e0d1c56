export type { Credentials } from './access/credentials'
export { hashPassword, type PasswordHashing, verifyPassword } from './access/password'
export {
  type AccessRequest,
  adminRule,
  anonymous,
  type Principal,
  type ReadAccess,
  type Rule,
  readOnlyRule,
  userRule,
} from './access/rule'
export { DatabaseError } from './connection/database-error'
export type { FaultEvent, RefusalEvent, RequestEvent, StatementEvent } from './diagnostics'
export { ConfigError } from './errors'
export type { ApiInfo } from './openapi/document'
export { type ProblemDetails, problem } from './problem'
export type { PageLimits, RequestLimits } from './request/limits'
export {
  type BeforeAndAfter,
  type FieldPermission,
  type FilterObject,
  type FilterValue,
  type MayOptions,
  type MayResult,
  type Permission,
  type PresetValues,
  Resource,
  type ResourceOptions,
  type ScopeResult,
  UserAccount,
  type UserAccountOptions,
} from './resource'
export type { ResourceRegistration, UserRegistration } from './schema/registration'
export { type CloseOptions, closeGracefully } from './site/close'
export { type Mounted, type MountedResource, mountResources } from './site/mount'
export type { MountOptions } from './site/mount-options'
export { lockSqlite, type SqliteLockOptions } from './sqlite-lock/install'
export { SqliteLockError } from './sqlite-lock/lock'
