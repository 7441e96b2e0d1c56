import { membersOf, operandOf } from './group-text.ts'

/** Names in the parentheses of an include that are parameters: a field with such a name needs an operator. */
const parameterNames = /^(ordering|search|fields|limit|count|include)$/

/**
 * Value of the parameter `include`: `author,comments(limit:5,include:(author))`. Undefined values are left out.
 * @returns undefined if there are no includes
 */
export function includesText(includes: object = {}): string | undefined {
  const members = Object.entries(includes)
    .filter(([, options]) => options !== undefined)
    .map(([name, options]) => name + (options === true ? '' : optionsText(options)))
  return members.length > 0 ? members.join() : undefined
}

/** Options of an include in parentheses; empty if there are none. */
function optionsText({ where = {}, include, ...parameters }: { readonly where?: object; readonly include?: object }) {
  const filters = Object.entries(where).map(([name, value]) => [
    parameterNames.test(name) ? `${name}__eq` : name,
    value,
  ])
  const nested = includesText(include)
  const members = [
    ...Object.entries(parameters)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}:${operandOf(value)}`),
    ...membersOf(Object.fromEntries(filters)),
    ...(nested === undefined ? [] : [`include:(${nested})`]),
  ]
  return members.length > 0 ? `(${members.join()})` : ''
}
