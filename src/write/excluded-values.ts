import { ApiError, type FieldErrors } from '../errors'
import type { ResolvedPolicy } from '../query/policies'
import { type ChangeSet, type Comparison, type Condition, rootAlias } from '../query/query'
import { hasRowConditions } from '../read/select'
import type { ColumnMetadata } from '../schema/metadata'
import { isSameValue, type OperatorName, type ValueType } from '../value/value-type'
import type { Change } from './change'
import { writtenValues } from './changed-references'
import type { WriteStore } from './write-store'
import { refusalOf } from './written-checks'

/**
 * Refuses a write with values that the row scope or `may` excludes, whatever the other values of the record are. The check of
 * the written record would refuse it too, but only if no unique constraint does: then a 409 would reveal that there is such a
 * record among those that the principal cannot see.
 * @throws {ApiError} `forbidden`
 */
export function requireNotExcluded(store: WriteStore, change: Change): void {
  if (exclusionOf(store, change.action)?.(change.values)) throw refusal(store, change)
}

/** Adds the refusal of each record with excluded values, like {@link requireNotExcluded}. */
export function addExcludedErrors(
  store: WriteStore,
  records: readonly { readonly change: Change; readonly errors: FieldErrors }[],
): void {
  const actions = new Set(records.map(({ change }) => change.action))
  for (const action of actions) {
    const isExcluded = exclusionOf(store, action)
    if (isExcluded === undefined) continue
    for (const { change, errors } of records) {
      if (change.action === action && isExcluded(change.values)) errors.addRefusal(refusal(store, change))
    }
  }
}

function refusal({ view }: WriteStore, change: Change): ApiError {
  return new ApiError('forbidden', refusalOf(change, view))
}

/** Returns a function that tells whether written values exclude a record; undefined if no values do. */
function exclusionOf(store: WriteStore, action: Change['action']): ((values: ChangeSet) => boolean) | undefined {
  const { view, policies } = store
  if (policies === undefined || (action !== 'create' && action !== 'update')) return undefined
  if (!hasRowConditions(store, action)) return undefined
  const required = [
    policies.resolve({ type: 'visible', alias: rootAlias, view, isFollowed: false }),
    policies.resolve({ type: 'permission', view, action, state: 'after' }),
  ]
  return (values) => {
    // The condition can be built from other fields with the same columns.
    const written = new Map([...writtenValues(values)].map(([{ column }, value]) => [column, value]))
    return required.some((policy) => matches(policy, policy.condition, written) === false)
  }
}

/** Whether a record with these values matches a condition; undefined if this depends on anything else. */
function matches(
  policy: ResolvedPolicy,
  condition: Condition,
  written: ReadonlyMap<ColumnMetadata, unknown>,
): boolean | undefined {
  switch (condition.type) {
    case 'compare':
      return isMatch(policy, condition, written)
    case 'not': {
      const result = matches(policy, condition.condition, written)
      return result === undefined ? undefined : !result
    }
    case 'and':
    case 'or': {
      const results = condition.conditions.map((one) => matches(policy, one, written))
      const deciding = condition.type === 'or'
      if (results.includes(deciding)) return deciding
      return results.includes(undefined) ? undefined : !deciding
    }
    default:
      return undefined
  }
}

/** The result of a comparison of which all columns are written; undefined if only the database can tell. */
function isMatch(
  { values }: ResolvedPolicy,
  { on: { alias, field }, operator, valuesIndex }: Comparison,
  written: ReadonlyMap<ColumnMetadata, unknown>,
): boolean | undefined {
  const [stored] = field.columns
  if (alias !== rootAlias || stored === undefined || field.columns.length > 1 || !written.has(stored.column)) {
    return undefined
  }
  // Of a `double(10,2)`, MariaDB rounds the value before it compares it.
  const isRounded = field.valueType.name === 'float' && typeof stored.column.scale === 'number'
  if (stored.valueColumn.transformer !== undefined || isRounded) return undefined
  const value = written.get(stored.column)
  const compare = comparisonOf(field.valueType, operator)
  if (compare === undefined) return undefined
  return (values[valuesIndex] ?? []).some((operand) => compare(value, operand))
}

type Compare = (value: unknown, operand: unknown) => boolean

/**
 * How values of a type are compared; undefined if the database compares them in another way, such as date-times by the second. Like in
 * the database, null matches no operator other than `is`.
 */
function comparisonOf(valueType: ValueType, operator: OperatorName): Compare | undefined {
  const isSame: Compare = (value, operand) => isSameValue(valueType, value, operand)
  if (operator === 'is') {
    return (value, operand) => {
      if (typeof operand === 'boolean') return isSame(value, operand)
      return (value === null) === (operand === 'null')
    }
  }
  const isDate = valueType.name === 'date'
  if (valueType.exact !== true && !isDate) return undefined
  if (operator === 'eq' || operator === 'in') return isSame
  if (operator === 'ne') return (value, operand) => value !== null && !isSame(value, operand)
  const isInOrder = orders[operator]
  if (isInOrder === undefined || !(isDate || valueType.name === 'integer' || valueType.name === 'float'))
    return undefined
  const toOrdered = (value: unknown): Ordered => {
    const json = valueType.toJson(value)
    // Integers beyond 2^53 are texts.
    return valueType.name === 'integer' ? BigInt(String(json)) : (json as Ordered)
  }
  return (value, operand) => value !== null && isInOrder(toOrdered(value), toOrdered(operand))
}

type Ordered = string | number | bigint

const orders: Readonly<Partial<Record<OperatorName, (value: Ordered, operand: Ordered) => boolean>>> = {
  lt: (value, operand) => value < operand,
  lte: (value, operand) => value <= operand,
  gt: (value, operand) => value > operand,
  gte: (value, operand) => value >= operand,
}
