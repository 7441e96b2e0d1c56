import type { DataSource } from 'typeorm'
import { type Column, rootAlias, type SelectPlan } from '../plan/plan'
import type { Field } from '../schema/field'
import type { Resource } from '../schema/registry'
import { dateTimeKind } from '../value/date-time'
import { renderCondition } from './condition'
import { dateTimeBound } from './sqlite'

/** The values of one row, in the order of `resource.row`, as TypeORM hands them to entities. */
export type Row = readonly unknown[]

/** SQL with its parameters in order. */
export interface Statement {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** Runs the plan as one statement, on a replica where the data source has one. */
export async function fetchRows(dataSource: DataSource, plan: SelectPlan): Promise<readonly Row[]> {
  const rows = await run(dataSource, buildSelect(dataSource, plan), 'slave')
  return rows.map((row) => hydrate(dataSource, plan.resource, row))
}

/** @returns the rows of a statement, its columns named by `returning` or by SELECT */
export async function run(
  dataSource: DataSource,
  { sql, parameters }: Statement,
  replica: 'master' | 'slave',
): Promise<readonly Record<string, unknown>[]> {
  const runner = dataSource.createQueryRunner(replica)
  try {
    return await runner.query(sql, [...parameters])
  } finally {
    await runner.release()
  }
}

/** An escaped column, of the statement's one table or of an alias. */
export function columnName({ driver }: DataSource, { column }: Field, alias?: string): string {
  const name = driver.escape(column.databaseName)
  return alias === undefined ? name : `${driver.escape(alias)}.${name}`
}

/** The columns of `resource.row` as expressions, named by their position. */
export function selection(dataSource: DataSource, { row }: Resource, alias?: string): readonly [string, string][] {
  return row.map((field, index) => [readExpression(field, columnName(dataSource, field, alias)), `c${index}`])
}

export function hydrate(dataSource: DataSource, { row }: Resource, raw: Record<string, unknown>): Row {
  return row.map((field, index) => dataSource.driver.prepareHydratedValue(raw[`c${index}`], field.valueColumn))
}

/** What TypeORM binds for a value of this field: its transformer applied, dates and booleans as the driver stores them. */
export function toParameter(dataSource: DataSource, field: Field, value: unknown): unknown {
  const stored = dataSource.driver.preparePersistentValue(value, field.valueColumn)
  return field.kind === dateTimeKind ? dateTimeBound(value, stored) : stored
}

function buildSelect(dataSource: DataSource, plan: SelectPlan): Statement {
  const { resource, joins, conditions, ordering, limit, offset } = plan
  const builder = dataSource.createQueryBuilder(resource.metadata.target, rootAlias).select([])
  const nameOf = ({ alias, field }: Column): string => columnName(dataSource, field, alias)
  for (const [expression, name] of selection(dataSource, resource, rootAlias)) builder.addSelect(expression, name)
  for (const { alias, from } of joins) builder.leftJoin(`${from.alias}.${from.field.property}`, alias)

  // SQLite's driver writes numbers into the text; in an object of ours they stay parameters.
  const bound = new Set<unknown>()
  for (const condition of conditions) {
    const bind = (value: unknown): string => {
      const parameter = { value: toParameter(dataSource, condition.column.field, value) }
      const name = `p${bound.size}`
      bound.add(parameter)
      builder.setParameter(name, parameter)
      return `:${name}`
    }
    builder.andWhere(renderCondition(condition, nameOf(condition.column), bind))
  }
  for (const { column, descending } of ordering) builder.addOrderBy(nameOf(column), descending ? 'DESC' : 'ASC')
  const [sql, parameters] = builder.limit(limit).offset(offset).getQueryAndParameters()
  return { sql, parameters: parameters.map((parameter) => (bound.has(parameter) ? parameter.value : parameter)) }
}

const wideIntegers: ReadonlySet<unknown> = new Set(['bigint', 'int8', 'unsigned big int'])

/** better-sqlite3 reads integers as doubles: those that may be wider are asked for as text (D12). JSONB is bytes. */
function readExpression({ valueColumn }: Field, column: string): string {
  if (valueColumn.type === 'jsonb') return `json(${column})`
  const isWide = wideIntegers.has(valueColumn.type) && valueColumn.transformer === undefined
  return isWide ? `CAST(${column} AS TEXT)` : column
}
