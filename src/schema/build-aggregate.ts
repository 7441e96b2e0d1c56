import type { Report } from '../errors'
import type { MountContext } from './context'
import type { Lifecycle } from './lifecycle'
import type { OptionalName } from './list-parameters'
import { isPropertyOf, unknownProperty } from './property'
import type { Registration } from './registration'
import type { ResourceView } from './resource-view'

/** Whether a parameter exists only with the option `aggregate`. */
export const isAggregateName = (name: OptionalName): boolean => name === 'aggregate' || name === 'by'

/** Checks the option `aggregate`. */
export function buildAggregate(
  { metadata, options: { aggregate = false } }: Registration,
  fields: ResourceView['fields'],
  lifecycle: Lifecycle,
  { dataSource }: MountContext,
  report: Report,
): ResourceView['aggregate'] {
  if (aggregate === false) return []
  if (aggregate !== true && !Array.isArray(aggregate)) {
    report(`"aggregate" must be true, false or an array of properties, not ${JSON.stringify(aggregate)}`)
    return []
  }
  for (const name of ['aggregate', 'by'] as const) {
    if (fields.has(name))
      report(`"aggregate" is set, but a field has the name "${name}": set another one with "rename"`)
  }
  if (lifecycle.load) {
    report(
      '"aggregate" must not be set if the entity has afterLoad listeners: sums would reveal values that they may hide',
    )
  }
  const properties = aggregate === true ? [] : aggregate
  for (const property of properties) {
    if (!isPropertyOf(metadata, property)) report(unknownProperty(property, 'aggregate', metadata, dataSource))
  }
  return aggregate === true ? 'all' : properties
}
