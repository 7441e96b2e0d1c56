import { inspect } from 'node:util'
import { ruleTitle } from '../access/require-principal'
import type { ResourceView, WriteAction } from '../schema/resource-view'
import { describeScope } from './mounted-resource'

/** Row of the table: a resource, an action or a field, the access rule, and the conditions on the records. */
type Row = readonly [resource: string, action: string, rule: string, condition: string]

const header: Row = ['resource', 'action', 'rule', 'condition']

/**
 * Renders a table of who may do what, for reviews: one row for each action on a resource, and for each
 * field permission. Functions of the application are shown by their names, or with their text if they have none.
 */
export function renderAccessTable(views: Iterable<ResourceView>): string {
  const rows = [header, ...[...views].toSorted((one, other) => (one.name < other.name ? -1 : 1)).flatMap(rowsOf)]
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

function rowsOf(view: ResourceView): readonly Row[] {
  const { name, rule, fieldPermissions, may } = view
  const actions = ['create', 'update', 'delete', ...(may.restore === undefined ? [] : ['restore' as const])] as const
  const writes = view.writable ? actions : []
  return [
    [name, 'read', ruleTitle(rule), conditionText(scopeOf(view))],
    ...writes.map((action): Row => [name, action, ruleTitle(rule), conditionText(writeConditions(view, action))]),
    ...fieldPermissions.flatMap(({ property, read, write }) => [
      ...fieldRow(name, `read ${property}`, read),
      ...fieldRow(name, `write ${property}`, write),
    ]),
  ]
}

function fieldRow(resource: string, action: string, permission: unknown): readonly Row[] {
  return permission === true ? [] : [[resource, action, '', textOf(permission)]]
}

function scopeOf({ rowScope }: ResourceView): readonly string[] {
  return rowScope === undefined ? [] : [`scope: ${describeScope(rowScope, textOf)}`]
}

function writeConditions(view: ResourceView, action: WriteAction): readonly string[] {
  const { owner, ownerOf, may, preset } = view
  const permission = may[action]
  return [
    ...scopeOf(view),
    ...(owner === undefined || action === 'create' ? [] : [ownerText(owner.property, ownerOf)]),
    ...(permission === undefined ? [] : [`may: ${textOf(permission.option)}`]),
    ...(preset === undefined || action !== 'create' ? [] : [`preset: ${textOf(preset.option)}`]),
  ]
}

function ownerText(property: string, ownerOf: ResourceView['ownerOf']): string {
  return ownerOf === undefined ? `owner: ${property}` : `owner: ${property} is ${textOf(ownerOf.option)}`
}

const conditionText = (conditions: readonly string[]): string => conditions.join('; ')

/** Names that JavaScript gives to functions that are written in the options. */
const optionNames = ['scope', 'create', 'update', 'delete', 'restore', 'preset', 'read', 'write', 'is', '']

function textOf(option: unknown): string {
  if (typeof option !== 'function') return inspect(option, { depth: null, breakLength: Number.POSITIVE_INFINITY })
  return optionNames.includes(option.name) ? String(option).replace(/\s+/g, ' ') : option.name
}
