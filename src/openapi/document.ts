import type { Limits } from '../request/limits'
import type { Resource } from '../schema/registry'
import type { JsonSchema } from '../value/value-type'
import { resourcePaths, statusesIn } from './operations'
import { problemSchema, responsesOf } from './responses'
import { resourceSchemas } from './schemas'

/** What the description says of the whole service: members of OpenAPI's Info Object, each of which may be left out. */
export interface ApiInfo {
  /** Default: `REST service`. */
  readonly title?: string
  /** Of the application's API. Default: `1.0.0`. */
  readonly version?: string
  /** CommonMark. */
  readonly description?: string
  readonly contact?: { readonly name?: string; readonly url?: string; readonly email?: string }
  readonly license?: { readonly name: string; readonly url?: string; readonly identifier?: string }
}

/** What is described. */
export interface DescribedSite {
  readonly resources: Iterable<Resource>
  readonly limits: Limits
  readonly info: ApiInfo
}

/**
 * The description of what is mounted, as the text of an OpenAPI 3.1 document: of what is hidden it has only what may be written.
 * @returns the text for the path before the resources' names, as `/api`. Writing it costs little: clients may choose how they spell
 * the path
 */
export function renderOpenApi({ resources, limits, info }: DescribedSite): (base: string) => string {
  const all = [...resources]
  const paths = Object.fromEntries(all.flatMap((resource) => resourcePaths(resource, limits)))
  const statuses = statusesIn(Object.values(paths))
  const components: JsonSchema = {
    schemas: { Problem: problemSchema, ...Object.fromEntries(all.flatMap(resourceSchemas)) },
    responses: responsesOf(statuses),
    // Whoever is asked for credentials is refused without.
    ...(statuses.has('401') && { securitySchemes: { basic: { type: 'http', scheme: 'basic' } } }),
  }
  const tags = all.map(({ name, description }) => ({ name, description: description ?? `Records of ${name}.` }))
  const before = JSON.stringify({ openapi: '3.1.0', info: { ...defaultInfo, ...info } }).slice(0, -1)
  const after = JSON.stringify({ tags, paths, components }).slice(1)
  return (base) => `${before},"servers":${JSON.stringify([{ url: base === '' ? '/' : base }])},${after}`
}

/** What is the same for every list. */
const guide =
  'A list is filtered by `field=value` and `field__operator=value`; a name may follow relations, with two underscores between. A filter ' +
  'given twice means any of its values for `eq`, `in`, `is`, `like` and `ilike`, all of them for the others. Texts with commas in ' +
  'an `in` list stand in double quotes. `or`, `and` and `not` combine filters: `or=(status:open,due__lt:2026-01-01)`; a value with `,`, `(`, ' +
  '`)` or `"` in it stands in double quotes there, a list in parentheses.'

/** An Info Object has a title and a version, and checkers want a license, with an identifier as of SPDX. */
const defaultInfo = {
  title: 'REST service',
  version: '1.0.0',
  license: { name: 'Not stated', identifier: 'LicenseRef-Not-Stated' },
  description: guide,
}
