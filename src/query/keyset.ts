import type { DataSource } from 'typeorm'
import { type Order, rootAlias, type SelectPlan } from '../plan/plan'
import { isPlaceValue, type PlaceValue } from '../request/page-token'
import type { Bind } from './compile'
import type { PlaceSpelling } from './dialect'
import { dialectOf } from './dialect-of'
import { columnSql, mayBeNull } from './row'
import type { RawRow } from './statement'

/** What a list by keyset reads of each row behind its columns: where it stands in the order. */
export function placeSelection(dataSource: DataSource, plan: SelectPlan): readonly [string, string][] {
  if (plan.start === undefined) return []
  const width = plan.resource[plan.columns].length
  return plan.ordering.map((order, index) => [spell(dataSource, order).read, String(width + index)])
}

/** Where a row stands in the order of its plan; undefined where JSON cannot say it. */
export function placeOf(plan: SelectPlan, raw: RawRow): readonly PlaceValue[] | undefined {
  const width = plan.resource[plan.columns].length
  const place = plan.ordering.map((_, index) => raw[width + index] ?? null)
  return place.every(isPlaceValue) ? place : undefined
}

/** What a list by keyset is sorted by: what places are compared by. */
export function sortedSql(dataSource: DataSource, order: Order): string {
  return spell(dataSource, order).sorted
}

/** Asks for the rows behind the place where the plan begins, in its order; undefined for all. */
export function behindSql(dataSource: DataSource, { start, ordering }: SelectPlan, bind: Bind): string | undefined {
  const { place } = start ?? {}
  if (place === undefined) return undefined
  const steps = ordering.map((order, index) => stepSql(dataSource, order, place[index] ?? null, bind))
  return steps.reduceRight<string | undefined>((inner, { behind, notBefore }) => {
    if (inner === undefined) return behind
    const either = behind === nowhere ? inner : `(${behind} OR ${inner})`
    // An index finds where to begin by the first column, which a condition of all of them would keep from it.
    return notBefore === undefined ? either : `(${notBefore} AND ${either})`
  }, undefined)
}

/** For one column: what is behind a value, and what is there or behind; undefined for everything. */
interface Step {
  readonly behind: string
  readonly notBefore: string | undefined
}

const nowhere = '1 = 0'

/** Nulls are the least. */
function stepSql(dataSource: DataSource, order: Order, value: PlaceValue, bind: Bind): Step {
  const { compared, bound } = spell(dataSource, order)
  const { descending, column } = order
  if (value === null) {
    return descending
      ? { behind: nowhere, notBefore: `${compared} IS NULL` }
      : { behind: `${compared} IS NOT NULL`, notBefore: undefined }
  }
  const limit = bound(bind(value))
  if (!descending) return { behind: `${compared} > ${limit}`, notBefore: `${compared} >= ${limit}` }
  const orNull = (condition: string): string =>
    mayBeNull(column) ? `(${condition} OR ${compared} IS NULL)` : condition
  return { behind: orNull(`${compared} < ${limit}`), notBefore: orNull(`${compared} <= ${limit}`) }
}

function spell(dataSource: DataSource, { column }: Order): PlaceSpelling {
  return dialectOf(dataSource).place(column, columnSql(dataSource, column, rootAlias))
}
