import type { Report } from '../errors'
import type { Registration } from './registration'
import type { FilterNames, PolicyFunction, ResourceView, WriteAction, WriteState } from './resource-view'

/** The states of a record in which each write checks it. */
const statesOf: Readonly<Record<WriteAction, readonly WriteState[]>> = {
  create: ['after'],
  update: ['before', 'after'],
  delete: ['before'],
}

const actions = Object.keys(statesOf) as readonly WriteAction[]

const isAction = (name: string): name is WriteAction => Object.hasOwn(statesOf, name)

/**
 * Builds the functions of the options `may` and `preset` (specification: Permissions, Presets).
 * @param resource name of the resource
 * @param names returns the names that filter objects on the entity may use
 */
export function buildPermissions(
  { options: { may = {}, preset } }: Registration,
  resource: string,
  names: () => FilterNames,
  report: Report,
): Pick<ResourceView, 'may' | 'preset'> {
  const build = (title: string, option: unknown, states: readonly WriteState[]): PolicyFunction => ({
    title: `${title} of ${resource}`,
    option,
    call: typeof option === 'function' ? (option as PolicyFunction['call']) : () => option,
    names: names(),
    states,
  })
  if (typeof may !== 'object' || may === null || Array.isArray(may)) {
    report(`"may" must be an object: { ${actions.join(', ')} }`)
    return { may: {}, preset: undefined }
  }
  const permissions: Partial<Record<WriteAction, PolicyFunction>> = {}
  for (const [action, option] of Object.entries(may)) {
    if (!isAction(action)) report(`"may" has "${action}"; actions: ${actions.join(', ')}`)
    else if (['function', 'boolean', 'object'].includes(typeof option) && option !== null) {
      permissions[action] = build(`may.${action}`, option, statesOf[action])
    } else if (option !== undefined)
      report(`"may.${action}" must be true, false, a filter, or a function that returns one`)
  }
  if (preset === undefined) return { may: permissions, preset }
  if (typeof preset === 'function') return { may: permissions, preset: build('preset', preset, []) }
  report('"preset" must be a function that returns values: (me) => ({ author: me.id })')
  return { may: permissions, preset: undefined }
}
