import type { DataSource } from 'typeorm'
import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../plan/plan'
import type { Field } from '../schema/field'
import { toParameter } from './row'
import { execute } from './statement'

/**
 * Checks what the database will not: a foreign key that it watches is looked up only where there is an error to report
 * anyway.
 * @throws {ApiError} `bad-values`, with every error there is
 */
export async function requireReferences(
  dataSource: DataSource,
  changes: ChangeSet,
  errors: FieldErrors,
): Promise<void> {
  const isWatched = ([field]: readonly [Field, unknown]): boolean => field.constrained
  await checkReferences(dataSource, new Map([...changes].filter((change) => !isWatched(change))), errors)
  if (!errors.isEmpty) await checkReferences(dataSource, new Map([...changes].filter(isWatched)), errors)
  errors.raise('bad-values')
}

/** Notes every foreign key among the changes whose record does not exist (D10). */
export async function checkReferences(dataSource: DataSource, changes: ChangeSet, errors: FieldErrors): Promise<void> {
  for (const [field, value] of changes) {
    const referenced = field.column.referencedColumn
    if (field.relation === undefined || referenced === undefined || value === null) continue
    const target = field.relation.inverseEntityMetadata
    const column = `r.${referenced.propertyPath}`
    const builder = dataSource
      .createQueryBuilder(target.target, 'r')
      .select(column, 'found')
      .where(`${column} = :value`, { value: toParameter(dataSource, field, value) })
    const [found] = await execute(dataSource, builder)
    if (found === undefined) errors.add(field.name, `points to no ${target.name.toLowerCase()}`)
  }
}
