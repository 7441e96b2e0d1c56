import type { FieldErrors } from '../errors'
import type { ChangeSet } from '../plan/plan'
import type { Field } from '../schema/field'
import { toParameter, toValues } from './row'
import { execute, type Session } from './statement'

/**
 * Checks what the database will not: a foreign key that it watches is looked up only where there is an error to report
 * anyway.
 * @throws {ApiError} `bad-values`, with every error there is
 */
export async function requireReferences(session: Session, changes: ChangeSet, errors: FieldErrors): Promise<void> {
  const isWatched = ([field]: readonly [Field, unknown]): boolean => field.constrained
  await checkReferences(session, new Map([...changes].filter((change) => !isWatched(change))), errors)
  if (!errors.isEmpty) await checkReferences(session, new Map([...changes].filter(isWatched)), errors)
  errors.raise('bad-values')
}

/** Notes every foreign key among the changes whose record does not exist (D10). */
export async function checkReferences(session: Session, changes: ChangeSet, errors: FieldErrors): Promise<void> {
  const { dataSource } = session
  for (const [field, value] of changes) {
    if (field.relation === undefined || value === null) continue
    const target = field.relation.inverseEntityMetadata
    const builder = dataSource.createQueryBuilder(target.target, 'r').select('1', 'found')
    const values = toValues(field, value)
    for (const [index, stored] of field.columns.entries()) {
      const name = `tr_p${index}`
      const column = dataSource.driver.escape(stored.column.referencedColumn?.databaseName ?? '')
      const condition = `${dataSource.driver.escape('r')}.${column} = :${name}`
      builder.andWhere(condition, { [name]: toParameter(dataSource, stored, values[index]) })
    }
    const { rows } = await execute(session, builder.limit(1))
    if (rows.length === 0) errors.add(field.name, `points to no ${target.name.toLowerCase()}`)
  }
}
