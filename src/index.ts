export { type ApiKeyAuthenticatorOptions, apiKeys } from './access/api-keys/api-key-authenticator'
export type { Authenticator, SecurityScheme } from './access/authenticator'
export { bearer } from './access/bearer/bearer-authenticator'
export type { BearerOptions, PublicKey, TokenAlgorithm, TokenClaims } from './access/bearer/token-options'
export type { Credentials } from './access/credentials'
export { type CustomAuthenticatorOptions, custom } from './access/custom-authenticator'
export { basic } from './access/passwords/basic-authenticator'
export type { FailedLoginLimits, FailureCount, LoginLimiter } from './access/passwords/failed-logins'
export { hashPassword, type PasswordHashing, verifyPassword } from './access/passwords/password'
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
export type { ChangeEvent, ChangeListener } from './connection/change-events'
export { DatabaseError } from './connection/database-error'
export type { FaultEvent, RefusalEvent, RequestEvent, StatementEvent } from './diagnostics'
export { ConfigError } from './errors'
export type { BeforeAndAfter, FilterObject, FilterValue, ScopeResult } from './filter-types'
export type { ActionDescription } from './openapi/custom-actions'
export type { ApiInfo } from './openapi/document'
export { type ProblemDetails, problem } from './problem'
export type { PageLimits, RequestLimits } from './request/limits'
export {
  type ApiKeyOptions,
  ApiKeys,
  type FieldPermission,
  type IndexedSearch,
  type MayOptions,
  type MayResult,
  type OwnerOptions,
  type Permission,
  type PresetValues,
  Resource,
  type ResourceOptions,
  UserAccount,
  type UserAccountOptions,
} from './resource'
export { IdempotencyKey, type StoredResponse } from './schema/idempotency-key'
export type { ResourceRegistration, UserRegistration } from './schema/registration'
export { type CloseOptions, closeGracefully } from './site/close'
export { type ApiKeyValues, createApiKey } from './site/create-api-key'
export { describeAction } from './site/describe-action'
export { type Mounted, mountResources } from './site/mount'
export type { MountOptions } from './site/mount-options'
export type { MountedResource } from './site/mounted-resource'
export type { ActionState, ResourceRouter } from './site/routers'
export { lockSqlite, type SqliteLockOptions } from './sqlite-lock/install'
export { SqliteLockError } from './sqlite-lock/lock-error'
