import type { DataSource, EntityMetadata } from 'typeorm'
import { argon2id, hashLength, type PasswordHashing } from '../access/passwords/password'
import type { Report } from '../errors'
import type { UserAccountOptions } from '../resource'
import type { ValueType } from '../value/value-type'
import { isBinary, valueTypeOf } from './column-value-type'
import type { ColumnMetadata } from './metadata'
import { buildPrincipalProperties, type PrincipalProperty } from './principal-properties'
import { isDeclaredBy, isUnique, propertyOf } from './property'

/** The user entity and its columns, from the options of `@UserAccount` (specification: Users). */
export interface AccountSource {
  readonly metadata: EntityMetadata
  readonly key: ColumnMetadata
  readonly username: ColumnMetadata
  readonly password: ColumnMetadata
  /** If undefined, no user is an administrator. */
  readonly admin: ColumnMetadata | undefined
  /** If undefined, every user is active. */
  readonly active: ColumnMetadata | undefined
  readonly principal: readonly PrincipalProperty[]
  readonly hashing: PasswordHashing
}

type Role = 'username' | 'password' | 'admin' | 'active'

/**
 * Finds the columns that the options name, and reports the names that are not suitable columns.
 * @returns undefined if the key, the user name or the password is missing
 */
export function buildAccountSource(
  metadata: EntityMetadata,
  options: UserAccountOptions,
  dataSource: DataSource,
  report: Report,
): AccountSource | undefined {
  const find = (role: Role): ColumnMetadata | undefined => {
    const property = options[role] ?? role
    const column = ownColumn(metadata, property, role === 'username' || role === 'password')
    const isRequired = options[role] !== undefined || role === 'username' || role === 'password'
    if (column === undefined && isRequired) {
      const columns = metadata.columns.map(propertyOf).join(', ')
      report(
        `"${property}" cannot be the users' ${role}, because it is not a column of this entity: name one in @UserAccount; columns: ${columns}`,
      )
    }
    return column
  }
  // Any other type would be read as true, for example the text "no".
  const findFlag = (role: 'admin' | 'active'): ColumnMetadata | undefined => {
    const column = find(role)
    if (column !== undefined && !isFlag(valueTypeOf(column, dataSource))) {
      const advice = role === 'admin' ? `; for a role that is a text, use principal: ["${column.propertyPath}"]` : ''
      report(
        `"${column.propertyPath}" must be a boolean or integer column: it determines whether a user is ${role}${advice}`,
      )
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
  if (key !== undefined && !canBeUserId(key, dataSource)) {
    report(`"${key.propertyPath}" must be a column of strings or numbers: it is the id of a user`)
  }
  const principal = buildPrincipalProperties(metadata, options.principal, password, dataSource, report)
  const hashing = hashingOf(options, password, report)
  if (username === undefined || password === undefined || key === undefined) return undefined
  return { metadata, key, username, password, admin, active, principal, hashing }
}

/**
 * Finds a column of the user entity itself, not a relation or a column of a child under single-table inheritance. A
 * flag in an embedded entity is found by its path only: a property there that happens to be named `admin` may mean
 * something that users may change.
 * @param matchesName whether a column in an embedded entity is also found by its name alone
 */
function ownColumn(metadata: EntityMetadata, property: string, matchesName: boolean): ColumnMetadata | undefined {
  const own = metadata.columns.filter(
    (column) => column.relationMetadata === undefined && isDeclaredBy(metadata, column),
  )
  return (
    own.find((column) => column.propertyPath === property) ??
    (matchesName ? own.find((column) => column.propertyName === property) : undefined)
  )
}

/**
 * Checks that users can be found by a property: it is a column of the entity itself whose values are unique, and can be
 * compared as texts.
 */
export function checkIdentifyingProperty(
  metadata: EntityMetadata,
  property: string,
  dataSource: DataSource,
  report: Report,
): void {
  const candidates = metadata.columns.filter((column) => {
    const valueType = identifyingColumn(metadata, column.propertyPath) && valueTypeOf(column, dataSource)
    return isUnique(metadata, column) && ['text', 'integer', 'enum', 'uuid', 'other'].includes(valueType?.name ?? '')
  })
  if (candidates.some(({ propertyPath }) => propertyPath === property)) return
  const names = candidates.map(({ propertyPath }) => propertyPath).join(', ')
  report(
    `${metadata.name}: users cannot be found by "${property}": name a unique column of texts or integers in the ` +
      `options of the authenticator; columns: ${names}`,
  )
}

/** The source of accounts that are found by a property. @param property is checked; undefined for the user name */
export function identifiedBy(source: AccountSource, property: string | undefined): AccountSource {
  if (property === undefined) return source
  return { ...source, username: identifyingColumn(source.metadata, property) ?? source.username }
}

function identifyingColumn(metadata: EntityMetadata, property: string): ColumnMetadata | undefined {
  const column = ownColumn(metadata, property, false)
  return column?.propertyPath === property ? column : undefined
}

/** Whether the values of a key can be ids of users. Those that a transformer returns are checked when they are read. */
function canBeUserId(key: ColumnMetadata, dataSource: DataSource): boolean {
  if (key.transformer !== undefined) return true
  const { name } = valueTypeOf(key, dataSource) ?? {}
  return !isBinary(key, dataSource) && name !== 'date-time' && name !== 'boolean' && name !== 'array' && name !== 'json'
}

function isFlag(valueType: ValueType | undefined): boolean {
  return valueType?.name === 'boolean' || valueType?.name === 'integer'
}

/** The hashing of the options, or argon2id, for which the column must be long enough. */
function hashingOf(
  { hash, verify }: UserAccountOptions,
  password: ColumnMetadata | undefined,
  report: Report,
): PasswordHashing {
  if (hash !== undefined && verify !== undefined) return { hash, verify }
  if (hash !== undefined || verify !== undefined) report('@UserAccount requires both "hash" and "verify" or neither')
  const length = Number(password?.length || Number.POSITIVE_INFINITY)
  if (length < hashLength) {
    report(`"${password?.propertyName}" has a length of ${length} characters, but an argon2id hash needs ${hashLength}`)
  }
  return argon2id
}
