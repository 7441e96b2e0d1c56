import type { DataSource } from 'typeorm'
import type { Authenticator } from '../access/authenticator'
import { pause } from '../connection/pauses'
import type { Limits } from '../request/limits'
import type { ResourceView } from '../schema/resource-view'
import type { JsonSchema } from '../value/value-type'
import { batchPath, withOperationIndex } from './batch'
import type { DescribedResource } from './described-resource'
import { pageSchemas } from './list-schemas'
import { resourcePaths, statusesIn } from './operations'
import { problemSchema, responsesOf } from './responses'
import { recordSchemas } from './schemas'

/** Members of OpenAPI's Info Object, which describes the whole service. All of them are optional. */
export interface ApiInfo {
  /** Default: `REST service`. */
  readonly title?: string
  /** Version of the application's API. Default: `1.0.0`. */
  readonly version?: string
  /** Text in CommonMark. */
  readonly description?: string
  readonly contact?: { readonly name?: string; readonly url?: string; readonly email?: string }
  readonly license?: { readonly name: string; readonly url?: string; readonly identifier?: string }
}

/** Input of the OpenAPI document. */
export interface DescribedSite {
  readonly resources: Iterable<DescribedResource>
  /** Its database decides which functions of groups can be computed. */
  readonly dataSource: DataSource
  readonly limits: Limits
  readonly info: ApiInfo
  readonly authenticators: readonly Authenticator[]
  /** The limits on failed logins; undefined if there are none. */
  readonly failedLogins: object | undefined
  /** Maximum number of operations in a batch; 0 if there are no batches. */
  readonly batch: number
}

/**
 * Renders the OpenAPI 3.1 document of the mounted resources. Hidden fields appear only in request bodies, if they can
 * be written. For 100 resources this takes half a second, in which other requests run.
 * @returns a function from the path of the mount, such as `/api`, to the document in UTF-8. A call only joins encoded
 * parts: it must be cheap because the path is taken from the request, where it may have many spellings
 */
export async function renderOpenApi({
  resources,
  dataSource,
  limits,
  info,
  authenticators,
  failedLogins,
  batch,
}: DescribedSite): Promise<(base: string) => Buffer> {
  const all = [...resources]
  const securitySchemes = Object.fromEntries(authenticators.map(({ name, securityScheme }) => [name, securityScheme]))
  const login = { schemes: Object.keys(securitySchemes), isLimited: failedLogins !== undefined }
  const writes = new Map(all.map((resource) => [resource.view.name, resource.writes]))
  const writesOf = (view: ResourceView) => writes.get(view.name) ?? new Set()
  const paths = new EncodedObject()
  const schemas = new EncodedObject()
  const statuses = new Set<string>()
  const addPaths = (items: readonly (readonly [string, JsonSchema])[]): void => {
    for (const [path, item] of items) paths.set(path, item)
    for (const status of statusesIn(items.map(([, item]) => item))) statuses.add(status)
  }
  schemas.set('Problem', batch > 0 ? withOperationIndex(problemSchema) : problemSchema)
  for (const resource of all) {
    addPaths(resourcePaths(resource, dataSource, limits, login))
    await pause(undefined)
    for (const [name, schema] of recordSchemas(resource, { limits, writesOf })) schemas.set(name, schema)
    for (const [name, schema] of pageSchemas(resource.view, dataSource, limits)) schemas.set(name, schema)
    await pause(undefined)
  }
  if (batch > 0) addPaths([batchPath(batch, login, dataSource)])
  const tags = all.map(({ view: { name, description } }) => ({
    name,
    description: description ?? `Records of ${name}.`,
  }))
  const others = {
    responses: responsesOf(statuses),
    // Operations that need credentials are exactly those that document status 401.
    ...(statuses.has('401') && { securitySchemes }),
  }
  const before = JSON.stringify({ openapi: '3.1.0', info: { ...defaultInfo, ...info } }).slice(0, -1)
  const after = Buffer.concat([
    Buffer.from(`,"tags":${JSON.stringify(tags)},"paths":`),
    ...paths.parts(),
    Buffer.from(',"components":{"schemas":'),
    ...schemas.parts(),
    Buffer.from(`,${JSON.stringify(others).slice(1)}}`),
  ])
  return (base) => {
    const servers = JSON.stringify([{ url: base === '' ? '/' : base }])
    return Buffer.concat([Buffer.from(`${before},"servers":${servers}`), after])
  }
}

/** JSON object whose members are encoded when they are set, so that none of its parts takes long to encode. */
class EncodedObject {
  readonly #members = new Map<string, Buffer>()

  set(name: string, value: JsonSchema): void {
    this.#members.set(name, Buffer.from(`${JSON.stringify(name)}:${JSON.stringify(value)}`))
  }

  /** The parts of its text. */
  parts(): readonly Buffer[] {
    const members = [...this.#members.values()]
    return [
      ...members.flatMap((member, index) => [Buffer.from(index === 0 ? '{' : ','), member]),
      Buffer.from(members.length === 0 ? '{}' : '}'),
    ]
  }
}

/** Default description of the service: the query parameters that all lists have in common. */
const guide =
  'Lists are filtered by `field=value` and `field__operator=value`. A name may follow relations, separated by two ' +
  'underscores. If a filter is repeated, any of its values must match for `eq`, `in`, `is`, `like` and `ilike`, and ' +
  'all of them for the other operators. Values with commas in an `in` list must be in double quotes. `or`, `and` ' +
  'and `not` combine filters: `or=(status:open,due__lt:2026-01-01)`. In these groups, values with `,`, `(`, `)` or ' +
  '`"` must be in double quotes, and lists in parentheses.'

/** Default Info Object. OpenAPI requires title and version; linters also require a license, with an SPDX identifier. */
const defaultInfo = {
  title: 'REST service',
  version: '1.0.0',
  license: { name: 'Not stated', identifier: 'LicenseRef-Not-Stated' },
  description: guide,
}
