import { callForPrincipal } from '../access/call-function'
import type { Principal } from '../access/rule'
import { ValueError } from '../errors'
import type { Field } from '../schema/field'
import type { PolicyFunction, ResourceView } from '../schema/resource-view'
import type { StoredColumn } from '../schema/stored-column'
import { parseFilterObject } from './filter-object'
import { parseObjectOperand } from './operand'
import type { Policies } from './policies'
import { withTitle } from './policy-function'
import { type ChangeSet, rootAlias } from './query'

/** Values that the application sets in a new record (specification: Presets). */
export interface Presets {
  readonly values: ChangeSet
  /** The fields whose values in the body are ignored: those of the option `preset`. */
  readonly overriding: ReadonlySet<Field>
}

const noPresets: Presets = { values: new Map(), overriding: new Set() }

/**
 * The values that a new record gets: those that the row scope or `may` requires to be equal, for fields that are not in
 * the body, and those of the option `preset`.
 * @param policies the policies for the principal; undefined if the mount has none
 */
export function presetsOf(view: ResourceView, policies: Policies | undefined): Presets {
  if (policies === undefined) return noPresets
  const { rowScope, may } = view
  const overriding = [...presetValues(view, policies.principal)].map(
    ([field, value]) => [writableFieldOf(view, field), value] as const,
  )
  const scope = rowScope?.type === 'filter' ? rowScope.filter : undefined
  return {
    values: new Map([
      ...requiredValues(view, policies, may.create),
      ...requiredValues(view, policies, scope),
      ...overriding,
    ]),
    overriding: new Set(overriding.map(([field]) => field)),
  }
}

/**
 * The values of the option `preset`; none without it.
 * @throws {TypeError} for a result that is not an object of values: a mistake of the application
 */
export function presetValues({ preset }: ResourceView, principal: Principal): ChangeSet {
  if (preset === undefined) return new Map()
  const { title, call, names } = preset
  const result = callForPrincipal(title, call, principal)
  if (typeof result !== 'object' || result === null || Array.isArray(result)) {
    throw new TypeError(`${title} must be an object of values`)
  }
  return new Map(
    Object.entries(result).map(([name, value]) => {
      const field = names.fields.get(name)
      if (field === undefined) {
        throw new TypeError(
          `${title} sets ${name}, which is not a field; fields: ${names.outputFields.map((one) => one.name).join(', ')}`,
        )
      }
      return [field, presetValue(title, name, field, value)]
    }),
  )
}

/** The values that the filter of a row scope or of `may.create` requires new records to have. */
function requiredValues(
  view: ResourceView,
  policies: Policies,
  policy: PolicyFunction | undefined,
): readonly (readonly [Field, unknown])[] {
  if (policy === undefined) return []
  return policies.requiredComparisons(policy).flatMap(([{ on, operator }, [value]]) => {
    // The database generates the values of a generated column.
    if (on.alias !== rootAlias || operator !== 'eq' || on.field.columns.some(isGenerated)) return []
    return [[writableFieldOf(view, on.field), value]]
  })
}

const isGenerated = ({ column }: StoredColumn): boolean => column.isGenerated

/**
 * The writable field of a view with the same columns as a field of a filter object; that field itself if bodies cannot
 * have it.
 */
function writableFieldOf({ writableFields }: ResourceView, field: Field): Field {
  const { columns } = field
  const isSame = ({ columns: own }: Field): boolean =>
    own.length === columns.length && own.every(({ column }, index) => column === columns[index]?.column)
  return [...writableFields.values()].find(isSame) ?? field
}

function presetValue(title: string, name: string, field: Field, value: unknown): unknown {
  if (value === null) {
    if (!field.nullable) throw new TypeError(`${title} sets ${name} to null, which it cannot be`)
    return null
  }
  // The same check of the value as in a filter object: `undefined` is a mistake.
  const { filters } = withTitle(title, () => parseFilterObject({ [name]: value }))
  const [filter] = filters
  if (filter === undefined) throw new TypeError(`${title} sets ${name} to a list`)
  return parseValues(title, filter.name, () => parseObjectOperand(field, 'eq', filter))?.[0]
}

function parseValues<T>(title: string, name: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw error instanceof ValueError ? new TypeError(`${title}: ${name} ${error.message}`) : error
  }
}
