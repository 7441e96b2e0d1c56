import type { DataSource, EntityMetadata, EntityTarget, ObjectLiteral } from 'typeorm'
import type { Report } from '../errors'
import { lifecycleOf } from './lifecycle'
import type { ColumnMetadata } from './metadata'
import type { Registration } from './registration'

/** Properties that the entity of an audit log must have. */
const properties = ['resource', 'record', 'action', 'principal', 'changes'] as const

/** Finds the metadata of the entity in the option `audit`. @returns undefined if it has mistakes, which are reported */
export function findAuditEntity(
  dataSource: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  report: Report,
): EntityMetadata | undefined {
  if (!dataSource.hasMetadata(entity)) {
    report('"audit": the entity does not belong to the data source: add it to "entities"')
    return undefined
  }
  const metadata = dataSource.getMetadata(entity)
  const { name, columns } = metadata
  const missing = properties.filter((property) => columns.every(({ propertyPath }) => propertyPath !== property))
  if (missing.length === 0) return metadata
  report(`"audit": ${name} has no column for ${missing.join(', ')}; it needs columns for ${properties.join(', ')}`)
  return undefined
}

/**
 * Lets nobody write the entries of an audit log, unless the option `may` of their resource permits it. This applies to all
 * resources with the table of the log.
 * @param metadata of the entries; undefined without an audit log
 * @param report receives the properties of entries that nothing sets
 */
export function protectAuditLog(
  registrations: readonly Registration[],
  metadata: EntityMetadata | undefined,
  dataSource: DataSource,
  report: Report,
): readonly Registration[] {
  if (metadata === undefined) return registrations
  const own = registrations.find((registration) => registration.metadata === metadata)
  const unset = own?.options.preset === undefined ? unsetProperties(metadata, dataSource) : []
  if (unset.length > 0) {
    report(
      `"audit": nothing sets ${unset.join(', ')} of ${metadata.name}: make it a resource whose option "preset" returns a ` +
        'value, or give the column a default or null',
    )
  }
  return registrations.map((registration) =>
    registration.metadata.tablePath === metadata.tablePath ? withoutWrites(registration) : registration,
  )
}

/** The properties of new entries that must have a value, which neither the service nor the database sets. */
function unsetProperties(metadata: EntityMetadata, dataSource: DataSource): readonly string[] {
  // Listeners may set them.
  if (lifecycleOf(metadata, dataSource).write) return []
  const paths = metadata.columns
    .filter(isUnset)
    .map((column) => column.relationMetadata?.propertyPath ?? column.propertyPath)
  return [...new Set(paths)].filter((path) => !(properties as readonly string[]).includes(path))
}

function isUnset(column: ColumnMetadata): boolean {
  const { isNullable, isGenerated, isCreateDate, isUpdateDate, isVersion, isDiscriminator, asExpression } = column
  if (column.isVirtualProperty) return false
  const isSet =
    isGenerated || isCreateDate || isUpdateDate || isVersion || isDiscriminator || asExpression !== undefined
  return !isNullable && !isSet && column.default === undefined
}

function withoutWrites(registration: Registration): Registration {
  const { options } = registration
  const { may } = options
  if (may === undefined) return { ...registration, isReadOnly: true }
  // A wrong value is reported when the resource is built.
  if (typeof may !== 'object' || may === null || Array.isArray(may)) return registration
  return { ...registration, options: { ...options, may: { create: false, update: false, delete: false, ...may } } }
}
