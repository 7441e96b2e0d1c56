import type { EntityMetadata } from 'typeorm'
import { argon2id, type PasswordHashing } from '../access/account'
import { hashLength } from '../access/password'
import type { UserAccountOptions } from '../resource'
import type { ColumnMetadata } from './column-kind'

/** Where the site's users are, as `@UserAccount` says (D25). */
export interface AccountSource {
  readonly metadata: EntityMetadata
  readonly key: ColumnMetadata
  readonly username: ColumnMetadata
  readonly password: ColumnMetadata
  /** Undefined: nobody is an administrator. */
  readonly admin: ColumnMetadata | undefined
  /** Undefined: every user may log in. */
  readonly active: ColumnMetadata | undefined
  readonly hashing: PasswordHashing
}

type Role = 'username' | 'password' | 'admin' | 'active'

/** Finds the columns that the options name; every name that is none becomes a fault. */
export function buildAccountSource(
  metadata: EntityMetadata,
  options: UserAccountOptions,
  faults: string[],
): AccountSource | undefined {
  const find = (role: Role): ColumnMetadata | undefined => {
    const property = options[role] ?? role
    const column = metadata.findColumnWithPropertyName(property)
    const needed = options[role] !== undefined || role === 'username' || role === 'password'
    if (column === undefined && needed) {
      faults.push(`${metadata.name}: the users' ${role} is said to be in "${property}", which is no column of it`)
    }
    return column
  }
  const [username, password, admin, active] = [find('username'), find('password'), find('admin'), find('active')]
  const key = metadata.primaryColumns[0]
  const hashing = hashingOf(metadata, options, password, faults)
  if (username === undefined || password === undefined || key === undefined) return undefined
  return { metadata, key, username, password, admin, active, hashing }
}

function hashingOf(
  metadata: EntityMetadata,
  { hash, verify }: UserAccountOptions,
  password: ColumnMetadata | undefined,
  faults: string[],
): PasswordHashing {
  if (hash !== undefined && verify !== undefined) return { hash, verify }
  if (hash !== undefined || verify !== undefined) {
    faults.push(`${metadata.name}: @UserAccount takes "hash" and "verify" together or neither`)
  }
  const length = Number(password?.length || Number.POSITIVE_INFINITY)
  if (length < hashLength) {
    faults.push(
      `${metadata.name}.${password?.propertyName} holds ${length} characters; an argon2id hash has ${hashLength}`,
    )
  }
  return argon2id
}
