import { toAccessRequest } from '../access/authenticator'
import { requirePrincipal } from '../access/require-principal'
import type { Principal, Rule } from '../access/rule'
import type { DbSession } from '../connection/db-session'
import { unavailable } from '../errors'
import { type ApiInfo, renderOpenApi } from '../openapi/document'
import { type Service, viewsOf } from '../pipeline/service'
import { holdsIfNoneMatch } from '../request/preconditions'
import { type HttpResponse, jsonResponse, notModifiedResponse, withCaching } from '../response/http-response'
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
  // The service is a new one after each initialization of the data source.
  let latest: { readonly service: Service; readonly document: Document } | undefined
  return async (request) => {
    const { service } = await requirePageReader(access, request)
    if (latest?.service !== service) latest = { service, document: buildDocument(service, info) }
    return respondDocument(request, latest.document)
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
  const accessRequest = toAccessRequest(service.authenticator, session, context)
  return { service, principal: await requirePrincipal(rule, accessRequest, false, service.forbidden) }
}

function buildDocument(service: Service, info: ApiInfo): Document {
  const textAt = renderOpenApi({ resources: viewsOf(service), limits: service.limits, info })
  const digest = tagOf(textAt(''))
  return { textAt, tagAt: (root) => tagOf(`${digest} ${root}`) }
}

function respondDocument({ context, root }: PageRequest, { textAt, tagAt }: Document): HttpResponse {
  const tag = tagAt(root)
  const isNew = holdsIfNoneMatch(context.headers['if-none-match'], tag)
  return withCaching(isNew ? jsonResponse(200, textAt(root), { ETag: tag }) : notModifiedResponse(tag), false)
}
