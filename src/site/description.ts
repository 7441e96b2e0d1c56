import { LRUCache } from 'lru-cache'
import type { DataSource } from 'typeorm'
import { RequestAuthentication } from '../access/request-authentication'
import { identifyReader, requirePrincipal } from '../access/require-principal'
import type { Principal, Rule } from '../access/rule'
import { pause } from '../connection/pauses'
import { notConnected } from '../errors'
import { type DescribedResource, describedResource } from '../openapi/described-resource'
import { type ApiInfo, renderOpenApi } from '../openapi/document'
import type { Profile } from '../pipeline/profiles'
import type { Service } from '../pipeline/service'
import { Policies } from '../query/policies'
import { holdsIfNoneMatch } from '../request/preconditions'
import { type HttpResponse, jsonResponse, notModifiedResponse, withBytes, withCaching } from '../response/http-response'
import type { ResourceView } from '../schema/resource-view'
import { tagOf } from './asset'
import type { PageHandler, PageRequest } from './page'
import type { Routers } from './routers'

/** Options of the OpenAPI document of a mount. */
export interface DescriptionOptions {
  /** Access rule of the document. */
  readonly rule: Rule
  readonly info: ApiInfo
  /** Maximum number of operations in a batch; 0 if there are no batches. */
  readonly batch: number
  /** The routes that the application has added. */
  readonly routers: Routers
}

/**
 * OpenAPI document of a mount. It contains the root path of the request, which clients can spell in many ways
 * (Express ignores case). So it is hashed only once, with an empty root path, and all ETags are derived from this hash.
 */
interface Document {
  readonly bytesAt: (root: string) => Buffer
  readonly tagAt: (root: string) => string
  /** Length with an empty root path, in bytes. */
  readonly length: number
}

/**
 * Maximum total length of the documents in memory, one for each combination of permissions, in bytes. As measured, the
 * document of 100 resources with 20 fields has 10 million. The least recently used are evicted.
 */
const maxBytes = 32 * 1024 * 1024

/** Serves the OpenAPI document of a mount to clients that the rule permits. */
export function openApiPage({ rule, info, batch, routers }: DescriptionOptions): PageHandler {
  // The service is a new one after each initialization of the data source.
  const caches = new WeakMap<Service, DocumentCache>()
  return async (request) => {
    const { service, principal } = await requirePageReader(rule, request)
    const profile = service.profiles.profileOf(principal)
    const resources = resourcesFor(principal, profile, service).map((resource) => ({
      ...resource,
      base: routers.base,
      isLive: service.live !== undefined,
      routes: routers.routesOf(resource.view.name),
    }))
    const key = `${profile.key} ${routers.count} ${resources.map(({ writes }) => [...writes].join(',')).join(';')}`
    const documents = caches.get(service) ?? new DocumentCache()
    caches.set(service, documents)
    const build = () => buildDocument(resources, service, request.session.dataSource, { info, batch })
    return respondDocument(request, await documents.get(key, build))
  }
}

/** The documents of a service. */
class DocumentCache {
  readonly #documents = new LRUCache<string, Document>({
    maxSize: maxBytes,
    // The latest document is kept, even if it is longer.
    sizeCalculation: ({ length }) => Math.min(length, maxBytes),
  })
  /** Documents that are being built, for all requests that need them. */
  readonly #building = new Map<string, Promise<Document>>()
  /** One document is built at a time, because each takes much memory. */
  #last: Promise<unknown> = Promise.resolve()

  async get(key: string, build: () => Promise<Document>): Promise<Document> {
    const known = this.#documents.get(key)
    if (known !== undefined) return known
    const building = this.#building.get(key) ?? this.#build(key, build)
    this.#building.set(key, building)
    return building
  }

  #build(key: string, build: () => Promise<Document>): Promise<Document> {
    const building = this.#last.then(build).finally(() => this.#building.delete(key))
    this.#last = building.then(
      (document) => this.#documents.set(key, document),
      () => undefined,
    )
    return building
  }
}

/** Whether the rule of a resource refuses the writes of an anonymous reader, whom its functions then need not expect. */
const isRefused = ({ rule }: ResourceView, { id }: Principal): boolean => id === null && rule.needs !== undefined

/** The resources with the writes that `may` permits the principal for at least some records. */
function resourcesFor(
  principal: Principal,
  { views }: Profile,
  { queryShapes }: Service,
): readonly DescribedResource[] {
  const policies = new Policies(principal, queryShapes)
  return [...views.values()].map((view) =>
    describedResource(view, (action) => isRefused(view, principal) || policies.permits(view, action) !== false),
  )
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
export async function requirePageReader(rule: Rule, { session, service, context }: PageRequest): Promise<Reader> {
  if (service === undefined) throw notConnected()
  const authentication = new RequestAuthentication(service.verifyCredentials, session, context)
  const permitted = await requirePrincipal({ rule }, authentication, service.forbidden)
  // A rule that permits all requests does not check the credentials, but policies need to know the user.
  const principal = service.hasPolicies ? await identifyReader({ rule }, authentication, permitted) : permitted
  return { service, principal }
}

async function buildDocument(
  resources: readonly DescribedResource[],
  { limits, authenticators, failedLogins }: Service,
  dataSource: DataSource,
  options: Pick<DescriptionOptions, 'info' | 'batch'>,
): Promise<Document> {
  const bytesAt = await renderOpenApi({ resources, dataSource, limits, authenticators, failedLogins, ...options })
  // For a document of 10 MB, each of these steps takes 15 to 20 ms.
  await pause(undefined)
  const bytes = bytesAt('')
  await pause(undefined)
  const digest = tagOf(bytes)
  await pause(undefined)
  return { bytesAt, tagAt: (root) => tagOf(`${digest} ${root}`), length: bytes.length }
}

function respondDocument({ context, root }: PageRequest, { bytesAt, tagAt }: Document): HttpResponse {
  const tag = tagAt(root)
  const isNew = holdsIfNoneMatch(context.headers['if-none-match'], tag)
  const response = isNew ? withBytes(jsonResponse(200, '', { ETag: tag }), bytesAt(root)) : notModifiedResponse(tag)
  return withCaching(response, false)
}
