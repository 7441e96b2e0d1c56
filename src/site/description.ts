import { parseCredentials } from '../access/credentials'
import { requirePrincipal } from '../access/require-principal'
import type { Principal, Rule } from '../access/rule'
import type { DbSession } from '../connection/db-session'
import { unavailable } from '../errors'
import { type ApiInfo, renderOpenApi } from '../openapi/document'
import type { Service } from '../pipeline/service'
import { holdsIfNoneMatch } from '../request/preconditions'
import { type HttpResponse, jsonResponse, notModifiedResponse, withCaching } from '../response/http-response'
import { memoize } from '../schema/memoize'
import { tagOf } from './asset'
import type { PageHandler, PageRequest } from './page'

/** Access to the OpenAPI document and the explorer of a mount. */
export interface ReaderAccess {
  readonly rule: Rule
  readonly session: DbSession
}

/** Options of the OpenAPI document of a mount. */
export interface DescriptionOptions extends ReaderAccess {
  readonly info: ApiInfo
}

/**
 * OpenAPI document of a mount. Its text contains the root path of the request, which clients can spell in many ways
 * (Express ignores case). So it is hashed only once, with an empty root path, and all ETags are derived from this hash.
 */
interface Document {
  readonly textAt: (root: string) => string
  readonly tagAt: (root: string) => string
}

/** Serves the OpenAPI document of a mount to clients that the rule permits. */
export function openApiPage({ info, ...access }: DescriptionOptions): PageHandler {
  const documentOf = memoize((service: Service) => buildDocument(service, info))
  return async (request) => {
    const { service } = await requirePageReader(access, request)
    return respondDocument(request, documentOf(service))
  }
}

/** Principal who reads a page, and the service that the page shows. */
interface Reader {
  readonly service: Service
  readonly principal: Principal
}

/**
 * Checks the access rule of the pages that show the names of resources and fields.
 * @throws {ApiError} `unauthorized`, `unavailable`
 */
export async function requirePageReader(
  { rule, session }: ReaderAccess,
  { service, context }: PageRequest,
): Promise<Reader> {
  if (service === undefined) throw unavailable('the database is not connected')
  const credentials = parseCredentials(context.headers.authorization)
  const authenticate = () => service.authenticate(session, credentials, context.ip)
  const request = { method: context.method, reads: true, credentials, authenticate, context }
  return { service, principal: await requirePrincipal(rule, request, false) }
}

function buildDocument({ resources, limits }: Service, info: ApiInfo): Document {
  const textAt = renderOpenApi({ resources: resources.values(), limits, info })
  const digest = tagOf(textAt(''))
  return { textAt, tagAt: (root) => tagOf(`${digest} ${root}`) }
}

function respondDocument({ context, root }: PageRequest, { textAt, tagAt }: Document): HttpResponse {
  const tag = tagAt(root)
  const isNew = holdsIfNoneMatch(context.headers['if-none-match'], tag)
  return withCaching(isNew ? jsonResponse(200, textAt(root), { ETag: tag }) : notModifiedResponse(tag), false)
}
