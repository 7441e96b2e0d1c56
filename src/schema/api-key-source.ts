import type { DataSource, EntityMetadata } from 'typeorm'
import { apiKeyHashLength, apiKeyPrefixLength } from '../access/api-keys/api-key'
import type { Report } from '../errors'
import type { ApiKeyOptions } from '../resource'
import type { ValueTypeName } from '../value/value-type'
import type { RelationMetadata } from './metadata'
import { fieldColumns, isUnique, propertyOf } from './property'
import { buildStoredColumn, type StoredColumn } from './stored-column'

/** An entity with API keys and its columns, from the options of `@ApiKeys`. */
export interface ApiKeySource {
  readonly metadata: EntityMetadata
  readonly prefix: StoredColumn
  readonly hash: StoredColumn
  /** The relation to the user. */
  readonly user: RelationMetadata
  /** If undefined, keys do not expire. */
  readonly expires: StoredColumn | undefined
  /** If undefined, the last use is not stored. */
  readonly lastUsed: StoredColumn | undefined
  /** If undefined, keys permit everything that their users may do. */
  readonly permissions: StoredColumn | undefined
}

type ColumnRole = 'prefix' | 'hash' | 'expires' | 'lastUsed' | 'permissions'

/** What a column must be for its role: a description that completes "must be …", and the value types. */
const expectedTypes: Readonly<Record<ColumnRole, readonly [description: string, names: readonly ValueTypeName[]]>> = {
  prefix: ['a text column', ['text']],
  hash: ['a text column', ['text']],
  expires: ['a date-time column', ['date-time']],
  lastUsed: ['a date-time column', ['date-time']],
  permissions: ['a column of JSON or text', ['json', 'text']],
}

/**
 * Finds the columns that the options name, and reports the names that are not suitable.
 * @param users metadata of the user entity; undefined if it is not known
 * @returns undefined if the prefix, the hash or the user is missing
 */
export function buildApiKeySource(
  metadata: EntityMetadata,
  options: ApiKeyOptions,
  users: EntityMetadata | undefined,
  dataSource: DataSource,
  report: Report,
): ApiKeySource | undefined {
  const find = (role: ColumnRole): StoredColumn | undefined => findColumn(metadata, options, role, dataSource, report)
  const [prefix, hash, expires, lastUsed, permissions] = [
    find('prefix'),
    find('hash'),
    find('expires'),
    find('lastUsed'),
    find('permissions'),
  ]
  const user = findUser(metadata, options.user ?? 'user', users, report)
  const found = [prefix, hash, expires, lastUsed, permissions].flatMap((stored) => stored ?? [])
  const repeated = found.find(({ column }, index) => found.findIndex((other) => other.column === column) < index)
  if (repeated !== undefined) report(`"${repeated.column.propertyPath}" has two roles in @ApiKeys; each needs a column`)
  requireLength(prefix, apiKeyPrefixLength, 'the prefix of a key', report)
  requireLength(hash, apiKeyHashLength, 'the hash of a key', report)
  if (prefix !== undefined && !isUnique(metadata, prefix.column)) {
    report(`"${prefix.column.propertyPath}" must be unique, because it identifies a key: @Column({ unique: true })`)
  }
  if (hash?.column.isPrimary) report(`"${hash.column.propertyPath}" is part of the key, which every record shows`)
  if (lastUsed !== undefined && !lastUsed.column.isNullable) {
    report(`"${lastUsed.column.propertyPath}" must be nullable: a new key has not been used`)
  }
  if (prefix === undefined || hash === undefined || user === undefined) return undefined
  return { metadata, prefix, hash, user, expires, lastUsed, permissions }
}

/** @returns undefined for an optional column that is missing, and for one that is not suitable, which is reported */
function findColumn(
  metadata: EntityMetadata,
  options: ApiKeyOptions,
  role: ColumnRole,
  dataSource: DataSource,
  report: Report,
): StoredColumn | undefined {
  const property = options[role] ?? role
  const own = fieldColumns(metadata, dataSource).filter((column) => column.relationMetadata === undefined)
  const column = own.find(({ propertyPath }) => propertyPath === property)
  const isRequired = options[role] !== undefined || role === 'prefix' || role === 'hash'
  if (column === undefined) {
    const columns = own.map(propertyOf).join(', ')
    if (isRequired) {
      report(`"${property}" cannot be the keys' ${role}: name a column of this entity in @ApiKeys; columns: ${columns}`)
    }
    return undefined
  }
  const [description, names] = expectedTypes[role]
  const stored = buildStoredColumn(column, dataSource)
  const isComputed = column.isVirtualProperty || column.asExpression !== undefined || column.isGenerated
  const isExpected = stored !== undefined && names.includes(stored.valueType.name) && !isComputed
  if (isExpected && column.transformer === undefined) return stored
  report(`"${property}" must be ${description} without a transformer: it is the keys' ${role} (@ApiKeys)`)
  return undefined
}

function findUser(
  { relations }: EntityMetadata,
  property: string,
  users: EntityMetadata | undefined,
  report: Report,
): RelationMetadata | undefined {
  const isToUser = ({ isManyToOne, isOneToOneOwner, inverseEntityMetadata }: RelationMetadata): boolean =>
    (isManyToOne || isOneToOneOwner) && (users === undefined || inverseEntityMetadata === users)
  const relation = relations.find(({ propertyPath }) => propertyPath === property)
  if (relation !== undefined && isToUser(relation)) return relation
  const allowed = relations.filter(isToUser).map(({ propertyPath }) => propertyPath)
  const choices = allowed.length > 0 ? `; allowed: ${allowed.join(', ')}` : ''
  const target = users?.name ?? 'the user entity'
  report(`"${property}" cannot be the keys' user: @ApiKeys needs a many-to-one relation to ${target}${choices}`)
  return undefined
}

function requireLength(stored: StoredColumn | undefined, needed: number, what: string, report: Report): void {
  const length = Number(stored?.column.length || Number.POSITIVE_INFINITY)
  if (length >= needed) return
  report(`"${stored?.column.propertyName}" has a length of ${length} characters, but ${what} needs ${needed}`)
}
