import type { Report } from '../errors'
import { undefinedOption } from '../option-mistakes'
import type { MountContext } from './context'
import type { Registration } from './registration'
import type { FilterNames, PolicyFunction, ResourceView, WriteAction, WriteState } from './resource-view'

/** The states of a record in which each write checks it. */
const statesOf: Readonly<Record<WriteAction, readonly WriteState[]>> = {
  create: ['after'],
  update: ['before', 'after'],
  delete: ['before'],
  restore: ['before'],
}

const actions = Object.keys(statesOf) as readonly WriteAction[]

const isAction = (name: string): name is WriteAction => Object.hasOwn(statesOf, name)

/**
 * Builds the functions of the option `may` (specification: Permissions).
 * @param resource name of the resource
 * @param names returns the names that filter objects on the entity may use
 */
export function buildMay(
  { metadata, options: { may = {} } }: Registration,
  resource: string,
  { checkPolicy }: MountContext,
  names: () => FilterNames,
  report: Report,
): ResourceView['may'] {
  if (typeof may !== 'object' || may === null || Array.isArray(may)) {
    report(`"may" must be an object: { ${actions.join(', ')} }`)
    return {}
  }
  const permissions: Partial<Record<WriteAction, PolicyFunction>> = {}
  if (Object.hasOwn(may, 'restore') && metadata.deleteDateColumn === undefined) {
    report('"may.restore" needs soft-deleted records: the entity has no @DeleteDateColumn')
  }
  for (const [action, option] of Object.entries(may)) {
    if (!isAction(action)) {
      const advice = action === 'read' ? '; "scope" determines who sees a record' : ''
      report(`"may" has "${action}"; actions: ${actions.join(', ')}${advice}`)
    } else if (['function', 'boolean', 'object'].includes(typeof option) && option !== null) {
      const call = typeof option === 'function' ? (option as PolicyFunction['call']) : () => option
      const policy = { title: `may.${action} of ${resource}`, option, call, names: names(), states: statesOf[action] }
      checkPolicy({ ...policy, title: `"may.${action}"` }, report)
      permissions[action] = policy
    } else if (option === undefined) report(undefinedOption(`may.${action}`))
    else report(`"may.${action}" must be true, false, a filter, or a function that returns one`)
  }
  return permissions
}

/**
 * Builds the function of the option `preset` (specification: Presets).
 * @param resource name of the resource
 * @param names returns the names of the fields that the function may set
 */
export function buildPreset(
  { options: { preset } }: Registration,
  resource: string,
  names: () => FilterNames,
  report: Report,
): ResourceView['preset'] {
  if (preset === undefined) return undefined
  if (typeof preset === 'function') {
    return { title: `preset of ${resource}`, option: preset, call: preset, names: names(), states: [] }
  }
  report('"preset" must be a function that returns values: (me) => ({ author: me.id })')
  return undefined
}
