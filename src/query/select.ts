import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { type FieldRef, rootAlias, type SelectPlan } from '../plan/plan'
import type { Field } from '../schema/field'
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
  for (const { alias, from } of joins) {
    const [condition, parameters] = ofItsType(dataSource, from.field, alias)
    builder.leftJoin(`${from.alias}.${from.field.property}`, alias, condition, parameters)
  }
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

/** Under single-table inheritance a join must ask for the type, which TypeORM asks for in the main table only. */
function ofItsType({ driver }: DataSource, { relation }: Field, alias: string): [string?, ObjectLiteral?] {
  const target = relation?.inverseEntityMetadata
  if (target?.tableType !== 'entity-child' || target.discriminatorColumn === undefined) return []
  const types = [target, ...target.childEntityMetadatas].map((metadata) => metadata.discriminatorValue)
  const column = `${driver.escape(alias)}.${driver.escape(target.discriminatorColumn.databaseName)}`
  return [`${column} IN (:...${alias}_types)`, { [`${alias}_types`]: types }]
}
