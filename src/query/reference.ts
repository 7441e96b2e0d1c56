import type { DataSource } from 'typeorm'
import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../plan/plan'
import { toParameter } from './row'
import { execute } from './statement'

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
