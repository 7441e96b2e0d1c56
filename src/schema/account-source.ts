import type { DataSource, EntityMetadata } from 'typeorm'
import { argon2id, hashLength, type PasswordHashing } from '../access/password'
import type { Report } from '../errors'
import type { UserAccountOptions } from '../resource'
import type { ValueType } from '../value/value-type'
import { valueTypeOf } from './column-value-type'
import type { ColumnMetadata } from './metadata'
import { propertyOf } from './property'

/** Where the site's users are, as `@UserAccount` says (specification: Users). */
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

/** Finds the columns that the options name; every name that is none is reported. */
export function buildAccountSource(
  metadata: EntityMetadata,
  options: UserAccountOptions,
  dataSource: DataSource,
  report: Report,
): AccountSource | undefined {
  const find = (role: Role): ColumnMetadata | undefined => {
    const property = options[role] ?? role
    const column = ownColumn(metadata, property, role)
    const isNeeded = options[role] !== undefined || role === 'username' || role === 'password'
    if (column === undefined && isNeeded) {
      const columns = metadata.columns.map(propertyOf).join(', ')
      report(
        `"${property}" is no column that could be the users' ${role}; name it in @UserAccount; columns: ${columns}`,
      )
    }
    return column
  }
  // Any other value, as a text "no", would be taken for true.
  const findFlag = (role: 'admin' | 'active'): ColumnMetadata | undefined => {
    const column = find(role)
    if (column !== undefined && !isFlag(valueTypeOf(column, dataSource))) {
      report(`"${column.propertyPath}" says whether a user is ${role}, so it must be a boolean or an integer column`)
    }
    return column
  }
  const [username, password, admin, active] = [
    find('username'),
    find('password'),
    findFlag('admin'),
    findFlag('active'),
  ]
  const key = metadata.primaryColumns[0]
  const hashing = hashingOf(options, password, report)
  if (username === undefined || password === undefined || key === undefined) return undefined
  return { metadata, key, username, password, admin, active, hashing }
}

/**
 * A column of the user entity itself. `admin` in an embedded entity, as a relation or in a child under single-table inheritance means
 * something else, which users may be allowed to change: a flag in an embedded entity must be named by its path.
 */
function ownColumn(metadata: EntityMetadata, property: string, role: Role): ColumnMetadata | undefined {
  const own = metadata.columns.filter(
    (column) => column.relationMetadata === undefined && (column.embeddedMetadata || isDeclaredBy(metadata, column)),
  )
  const isCredential = role === 'username' || role === 'password'
  return (
    own.find((column) => column.propertyPath === property) ??
    (isCredential ? own.find((column) => column.propertyName === property) : undefined)
  )
}

function isDeclaredBy({ target: entity }: EntityMetadata, { target }: ColumnMetadata): boolean {
  if (entity === target) return true
  return typeof entity === 'function' && typeof target === 'function' && entity.prototype instanceof target
}

function isFlag(kind: ValueType | undefined): boolean {
  return kind?.name === 'boolean' || kind?.name === 'integer'
}

function hashingOf(
  { hash, verify }: UserAccountOptions,
  password: ColumnMetadata | undefined,
  report: Report,
): PasswordHashing {
  if (hash !== undefined && verify !== undefined) return { hash, verify }
  if (hash !== undefined || verify !== undefined) report('@UserAccount takes "hash" and "verify" together or neither')
  const length = Number(password?.length || Number.POSITIVE_INFINITY)
  if (length < hashLength) {
    report(`${password?.propertyName} holds ${length} characters; an argon2id hash has ${hashLength}`)
  }
  return argon2id
}
