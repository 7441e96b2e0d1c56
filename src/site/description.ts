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

/** Who may read the description of a mount. */
export interface ReaderAccess {
  readonly rule: Rule
  readonly session: DbSession
}

/** What the description of a mount is made with. */
export interface DescriptionOptions extends ReaderAccess {
  readonly info: ApiInfo
}

/** The document of a mount, without the path that it is reached by, which a client may spell in many ways: Express ignores case. */
interface Document {
  readonly textAt: (root: string) => string
  readonly tagAt: (root: string) => string
}

/** The OpenAPI document of what is mounted, for whom the rule lets read it. */
export function buildDescription({ info, ...access }: DescriptionOptions): PageHandler {
  const documentOf = memoize((service: Service) => write(service, info))
  return async (request) => {
    const { service } = await requireReader(access, request)
    return answerDocument(request, documentOf(service))
  }
}

/** Who reads, and what of. */
interface Reader {
  readonly service: Service
  readonly principal: Principal
}

/**
 * Asks the rule of the description, which tells the names of resources and fields.
 * @throws {ApiError} `unauthorized`, `unavailable`
 */
export async function requireReader(
  { rule, session }: ReaderAccess,
  { service, context }: PageRequest,
): Promise<Reader> {
  if (service === undefined) throw unavailable('the database is not connected')
  const credentials = parseCredentials(context.headers.authorization)
  const authenticate = () => service.authenticate(session, credentials, context.ip)
  const request = { method: context.method, reads: true, credentials, authenticate, context }
  return { service, principal: await requirePrincipal(rule, request, false) }
}

function write({ resources, limits }: Service, info: ApiInfo): Document {
  const textAt = renderOpenApi({ resources: resources.values(), limits, info })
  const digest = tagOf(textAt(''))
  return { textAt, tagAt: (root) => tagOf(`${digest} ${root}`) }
}

function answerDocument({ context, root }: PageRequest, { textAt, tagAt }: Document): HttpResponse {
  const tag = tagAt(root)
  const isNew = holdsIfNoneMatch(context.headers['if-none-match'], tag)
  return withCaching(isNew ? jsonResponse(200, textAt(root), { ETag: tag }) : notModifiedResponse(tag), false)
}
