import type { ResourceView } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import { idParameter } from './item-parameters'
import { errors } from './operation-parts'

/** Description of a custom action in the OpenAPI document: members of an Operation Object. */
export interface ActionDescription {
  /** What the action does, in a few words. */
  readonly summary: string
  /** Text in CommonMark. */
  readonly description?: string
  /** A Request Body Object. Default: none. */
  readonly requestBody?: object
  /** Parameter Objects, besides those of the path. Default: none. */
  readonly parameters?: readonly object[]
  /** Response Objects by status. The responses to refusals of the access rule are added. Default: `200` without content. */
  readonly responses?: Readonly<Record<string, object>>
}

/** Property of middleware with the description of its action. A copy of this package can read it too. */
export const actionDescription = Symbol.for('typeorm-resources.action')

interface DescribedMiddleware {
  readonly [actionDescription]?: ActionDescription
}

/** A route of `@koa/router`. */
export interface Route {
  readonly path: string | RegExp
  readonly methods: readonly string[]
  readonly name?: string | undefined
  readonly stack: readonly object[]
}

/**
 * Path items of the routes of a resource that are described.
 * @param base path of the mount, with which the paths of the routes begin
 * @param secure adds the credentials that an operation needs; `reads` says whether it only reads
 */
export function customPaths(
  view: ResourceView,
  routes: readonly Route[],
  base: string,
  secure: (operation: JsonSchema, reads: boolean) => JsonSchema,
): readonly (readonly [string, JsonSchema])[] {
  return routes.flatMap(({ path, methods, name, stack }) => {
    const description = stack
      .map((middleware) => (middleware as DescribedMiddleware)[actionDescription])
      .find((one) => one !== undefined)
    if (description === undefined || typeof path !== 'string') return []
    const template = path
      .slice(base.length)
      .replace(/\/$/, '')
      .replaceAll(/:(\w+)/g, '{$1}')
    const documented = methods.filter((method) => method !== 'HEAD').map((method) => method.toLowerCase())
    const operations = documented.map((method) => {
      const reads = method === 'get' || method === 'options'
      const id = `${view.name}.${name ?? idOf(template, method)}`
      return [method, secure(operationOf(view, id, description, template, reads), reads)] as const
    })
    return [[template, Object.fromEntries(operations)] as const]
  })
}

/** A name for an operation without one: its method, and the parts of its path after the resource. */
function idOf(template: string, method: string): string {
  const [, , ...parts] = template.split('/')
  return [method, ...parts.map((part) => part.replaceAll(/[{}]/g, ''))].join('_')
}

function operationOf(
  view: ResourceView,
  operationId: string,
  { responses, parameters = [], ...described }: ActionDescription,
  template: string,
  reads: boolean,
): JsonSchema {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const inPath = names.map((name) =>
    name === 'id' ? idParameter(view) : { name, in: 'path', required: true, schema: { type: 'string' } },
  )
  const all = [...inPath, ...parameters]
  return {
    operationId,
    tags: [view.name],
    ...described,
    ...(all.length > 0 && { parameters: all }),
    responses: {
      ...errors(view, reads ? 'read' : 'write', reads ? [] : [403]),
      ...(responses ?? { 200: { description: 'Success' } }),
    },
  } as JsonSchema
}
