import type { DataSource } from 'typeorm'
import { dialectOf } from '../dialect/dialect-of'
import type { FieldErrors } from '../errors'
import type { FieldFunction } from '../query/aggregable'
import type { AggregateQuery } from '../query/aggregate-query'
import type { Field } from '../schema/field'
import type { Store } from './store'

/** Adds an error for each function and date part that the database cannot compute exactly. */
export function checkAggregates(
  { dataSource }: Store,
  { aggregates, groups }: AggregateQuery,
  errors: FieldErrors,
): void {
  for (const aggregate of aggregates) {
    if (aggregate.function === 'count') continue
    const { name, on } = aggregate
    if (!computesExactly(dataSource, aggregate.function, on.field)) {
      errors.add('aggregate', `names "${name}", but the database stores ${on.field.name} inexactly`)
    }
  }
  for (const { name, on, part } of groups) {
    if (part !== undefined && !computesDateParts(dataSource, on.field)) {
      errors.add('by', `names "${name}", but the database stores ${on.field.name} in local time`)
    }
  }
}

/** Whether the database can compute a function of a field exactly. */
export function computesExactly(dataSource: DataSource, name: FieldFunction, { columns: [stored] }: Field): boolean {
  if (name !== 'sum' && name !== 'avg') return true
  if (stored === undefined || stored.valueType.name === 'float') return stored !== undefined
  return dialectOf(dataSource).exactSumSql(stored, '') !== undefined
}

/** Whether the database can compute the date parts of a date or date-time in UTC. */
export function computesDateParts(dataSource: DataSource, { columns: [stored] }: Field): boolean {
  return stored !== undefined && dialectOf(dataSource).computesInUtc(stored, dataSource)
}
