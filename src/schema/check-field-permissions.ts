import type { DataSource } from 'typeorm'
import type { Report } from '../errors'
import type { ScanContext } from './context'
import type { FieldPermissionsByEntity, PropertyPermissions } from './field-permissions'
import { isHiddenEverywhere } from './hidden'
import type { ColumnMetadata } from './metadata'
import { isNested } from './nested-relations'
import { columnsOf, isNamed, isPropertyOf, listsColumn, unknownProperty } from './property'
import type { Registration } from './registration'
import { isToMany } from './relations'

type Context = Pick<ScanContext, 'dataSource' | 'accounts' | 'apiKeys' | 'registrations'>

/**
 * Reads the option `fields` of all resources, and reports its mistakes.
 * @returns the field permissions without mistakes
 */
export function collectFieldPermissions(
  { dataSource, accounts, apiKeys, registrations }: Context,
  report: Report,
): FieldPermissionsByEntity {
  const isHidden = (column: ColumnMetadata): boolean => isHiddenEverywhere(column, { accounts, apiKeys })
  return new Map(
    registrations.map((registration) => {
      const { metadata } = registration
      const reportHere: Report = (mistake) => report(`${metadata.name}: ${mistake}`)
      return [metadata, permissionsOf(registration, dataSource, isHidden, reportHere)]
    }),
  )
}

/** @param isHidden whether a column is hidden from all principals */
function permissionsOf(
  registration: Registration,
  dataSource: DataSource,
  isHidden: (column: ColumnMetadata) => boolean,
  report: Report,
): readonly PropertyPermissions[] {
  const { metadata, options } = registration
  if (!('fields' in options)) return []
  if (!isObject(options.fields)) {
    report(`"fields" must be an object such as { price: { read: isManager } }, not ${describe(options.fields)}`)
    return []
  }
  return Object.entries(options.fields).flatMap(([property, permissions]) => {
    const mistakes = isPropertyOf(metadata, property)
      ? [...checkMembers(property, permissions), ...checkProperty(registration, property, permissions, isHidden)]
      : [unknownProperty(property, 'fields', metadata, dataSource)]
    for (const mistake of mistakes) report(mistake)
    if (mistakes.length > 0) return []
    const { read = true, write = read } = permissions ?? {}
    return [{ property, read, write }]
  })
}

/** The mistakes in the permissions of a property that do not depend on the entity. */
function checkMembers(property: string, permissions: unknown): readonly string[] {
  const name = `"fields.${property}"`
  if (!isObject(permissions)) return [`${name} must be an object with "read" or "write", not ${describe(permissions)}`]
  return Object.entries(permissions).flatMap(([member, permission]) => {
    if (member !== 'read' && member !== 'write') return [`unknown member "${member}" in ${name}; members: read, write`]
    if (typeof permission === 'boolean' || typeof permission === 'function') return []
    return [`"fields.${property}.${member}" must be true, false or a function, not ${describe(permission)}`]
  })
}

/** The mistakes in the permissions of a property of the entity: those that cannot have an effect. */
function checkProperty(
  { metadata, options }: Registration,
  property: string,
  permissions: object | undefined,
  isHidden: (column: ColumnMetadata) => boolean,
): readonly string[] {
  const { read, write }: { read?: unknown; write?: unknown } = Object(permissions)
  const columns = columnsOf(metadata, property)
  const isRelationToMany = metadata.relations.some((one) => one.propertyPath === property && isToMany(one))
  const areAll = (isListed: (column: ColumnMetadata) => boolean): boolean =>
    columns.length > 0 && columns.every(isListed)
  const isReadOnly = areAll((column) => listsColumn(column, options.readOnly))
  const mistakes: readonly (readonly [isMistake: boolean, text: string])[] = [
    [
      read !== undefined && read !== true && columns.some(({ isPrimary }) => isPrimary),
      `"${property}" is part of the key, which cannot be hidden: every record shows it as "id"; remove "read"`,
    ],
    [
      read !== undefined && (isNamed(property, options.exclude) || areAll(isHidden)),
      `"fields.${property}" has "read", but the property is hidden from everybody; remove "read", or show the property`,
    ],
    [
      write !== undefined && isReadOnly,
      `"fields.${property}" has "write", but the property is in "readOnly"; remove it from one of them`,
    ],
    [
      isRelationToMany && isWiderThan(write, read),
      `"fields.${property}" has "write", but principals who may not read a relation to many cannot write it; remove "write"`,
    ],
    [
      write !== undefined && isRelationToMany && !isNested(options, property),
      `"fields.${property}" has "write", but bodies cannot contain this relation to many; add it to "nested", or remove "write"`,
    ],
  ]
  return mistakes.flatMap(([isMistake, text]) => (isMistake ? [text] : []))
}

/** Whether a permission to write certainly permits more than the one to read. */
function isWiderThan(write: unknown, read: unknown): boolean {
  if (write === undefined || write === false) return false
  return read === false || (write === true && typeof read === 'function')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Text of a value in a message. `undefined` is often the consequence of a circular import. */
function describe(value: unknown): string {
  if (value === undefined) return 'undefined; check for a circular import'
  return typeof value === 'function' ? 'a function' : JSON.stringify(value)
}
