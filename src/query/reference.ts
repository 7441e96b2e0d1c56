import type { DataSource } from 'typeorm'
import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../plan/plan'
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
  const unwatched = new Map([...changes].filter(([field]) => !errors.isEmpty || !field.constrained))
  await checkReferences(dataSource, unwatched, errors)
  errors.raise('bad-values')
}

/** Notes every foreign key among the changes whose record does not exist (D10). */
export async function checkReferences(dataSource: DataSource, changes: ChangeSet, errors: FieldErrors): Promise<void> {
  for (const [field, value] of changes) {
    const target = field.column.referencedColumn
    if (target === undefined || value === null) continue
    const column = `r.${target.propertyPath}`
    const builder = dataSource
      .createQueryBuilder(target.entityMetadata.target, 'r')
      .select(column, 'found')
      .where(`${column} = :value`, { value: toParameter(dataSource, field, value) })
    const [found] = await execute(dataSource, builder)
    if (found === undefined) errors.add(field.name, `points to no ${target.entityMetadata.name.toLowerCase()}`)
  }
}
