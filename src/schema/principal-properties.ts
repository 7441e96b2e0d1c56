import type { DataSource, EntityMetadata } from 'typeorm'
import type { Report } from '../errors'
import type { ColumnMetadata } from './metadata'
import { fieldColumns, isSameColumn, propertyOf } from './property'

/** A property of the user entity that principals have. */
export interface PrincipalProperty {
  readonly name: string
  readonly column: ColumnMetadata
}

/** Names of the properties that principals have without the option. */
const reservedNames: readonly string[] = ['id', 'admin']

/**
 * Finds the columns of the option `principal` of `@UserAccount`, and reports the names that are not suitable.
 * @param names the option; the compiler has not checked options in JavaScript
 * @param password column with the hash of the password, which no principal may have
 */
export function buildPrincipalProperties(
  metadata: EntityMetadata,
  names: unknown,
  password: ColumnMetadata | undefined,
  dataSource: DataSource,
  report: Report,
): readonly PrincipalProperty[] {
  if (names === undefined) return []
  if (!Array.isArray(names)) {
    report('"principal" must be an array of property names, such as ["company"]')
    return []
  }
  const candidates = fieldColumns(metadata, dataSource).filter(
    (column) => column.embeddedMetadata === undefined && !isSameColumn(column, password),
  )
  return [...new Set(names.map(String))].flatMap((name) => {
    const columns = candidates.filter((column) => column.propertyPath === name || propertyOf(column) === name)
    const [column] = columns
    if (reservedNames.includes(name)) report(`"principal" names "${name}", which all principals have already`)
    else if (columns.length > 1) report(`"principal" names "${name}", whose key has several columns`)
    else if (column !== undefined) return [{ name, column }]
    else {
      const known = [...new Set(candidates.map(propertyOf))].filter((property) => !reservedNames.includes(property))
      report(
        `"principal" names "${name}", which is neither a column nor a relation to one record; allowed: ${known.join(', ')}`,
      )
    }
    return []
  })
}
