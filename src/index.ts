export type { PasswordHashing } from './access/account'
export type { Credentials } from './access/credentials'
export { hashPassword, verifyPassword } from './access/password'
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
export { ConfigError } from './errors'
export { type Mounted, type MountedResource, type MountOptions, mountResources } from './mount'
export type { PageLimits } from './request/limits'
export { Resource, type ResourceOptions, UserAccount, type UserAccountOptions } from './resource'
export type { ResourceRegistration, UserRegistration } from './schema/registration'
