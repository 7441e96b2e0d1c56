import { LRUCache } from 'lru-cache'
import { parseCredentials } from '../access/credentials'
import { requirePrincipal } from '../access/require-principal'
import type { Principal, Rule } from '../access/rule'
import { unavailable } from '../errors'
import { type ApiInfo, renderOpenApi } from '../openapi/document'
import type { Service } from '../pipeline/service'
import type { Session } from '../query/connection'
import { holdsIfNoneMatch } from '../request/preconditions'
import { type Answer, answerJson, answerNotModified, withCaching } from '../response/answer'
import { memoize } from '../schema/memoize'
import { tagOf } from './asset'
import type { Page, PageRequest } from './page'

/** Who may read the description of a mount. */
export interface ReaderAccess {
  readonly rule: Rule
  readonly session: Session
}

/** What the description of a mount is made with. */
export interface DescriptionOptions extends ReaderAccess {
  readonly info: ApiInfo
}

/** A text that is written once, and its validator. */
interface Document {
  readonly text: string
  readonly tag: string
}

/** Paths under which an application may have been mounted at a time. */
const mostRoots = 8

/** The OpenAPI document of what is mounted, for whom the rule lets read it. */
export function buildDescription({ info, ...access }: DescriptionOptions): Page {
  const documents = memoize((_: Service) => new LRUCache<string, Document>({ max: mostRoots }))
  return async (request) => {
    const { service } = await requireReader(access, request)
    const known = documents(service)
    const { root } = request
    const document = known.get(root) ?? write(service, info, root)
    known.set(root, document)
    return answerDocument(request, document)
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
  const authenticate = () => service.authenticate(session, credentials)
  const request = { method: context.method, reads: true, credentials, authenticate, context }
  return { service, principal: await requirePrincipal(rule, request, false) }
}

function write({ resources, limits }: Service, info: ApiInfo, base: string): Document {
  const text = renderOpenApi({ resources: resources.values(), limits, info, base })
  return { text, tag: tagOf(text) }
}

function answerDocument({ context }: PageRequest, { text, tag }: Document): Answer {
  const isNew = holdsIfNoneMatch(context.headers['if-none-match'], tag)
  return withCaching(isNew ? answerJson(200, text, { ETag: tag }) : answerNotModified(tag), false)
}
