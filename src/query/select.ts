import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { type FieldRef, rootAlias, type SelectPlan } from '../plan/plan'
import { conditionSql } from './condition'
import { columnName, hydrate, type Row, selection, toParameter } from './row'
import { execute } from './statement'

/** Runs the plan as one statement. */
export async function fetchRows(dataSource: DataSource, plan: SelectPlan): Promise<readonly Row[]> {
  const rows = await execute(dataSource, selectQuery(dataSource, plan))
  return rows.map((row) => hydrate(dataSource, plan.resource, row))
}

function selectQuery(dataSource: DataSource, plan: SelectPlan): SelectQueryBuilder<ObjectLiteral> {
  const { resource, joins, conditions, ordering, limit, offset } = plan
  const builder = dataSource.createQueryBuilder(resource.metadata.target, rootAlias).select([])
  const nameOf = ({ alias, field }: FieldRef): string => columnName(dataSource, field, alias)
  for (const [expression, name] of selection(dataSource, resource, rootAlias)) builder.addSelect(expression, name)
  for (const { alias, from } of joins) builder.leftJoin(`${from.alias}.${from.field.property}`, alias)
  let bound = 0
  for (const condition of conditions) {
    const bind = (value: unknown): string => {
      const name = `p${bound++}`
      builder.setParameter(name, toParameter(dataSource, condition.on.field, value))
      return `:${name}`
    }
    builder.andWhere(conditionSql(condition, nameOf(condition.on), bind))
  }
  for (const { by, descending } of ordering) builder.addOrderBy(nameOf(by), descending ? 'DESC' : 'ASC')
  return builder.limit(limit).offset(offset)
}
