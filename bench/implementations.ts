import { type Engine, engines } from './engines'
import { nestCrudRequests, nestPaginateRequests, remultRequests, zenstackRequests } from './peer-requests'
import { ownRequests, plainRequests, type Requests, type Work } from './work'

/** A server that is measured, on each of its engines. */
export interface Implementation {
  readonly name: string
  /** Description. */
  readonly title: string
  /** The compiled server, relative to this folder's `dist`. */
  readonly server: string
  /** Default: all. */
  readonly engines?: readonly Engine[]
  readonly requests: Requests
  /** Requests that fail on an engine, or take too long. */
  readonly unsupported?: Readonly<Partial<Record<Engine, readonly Work[]>>>
  /** Further environment variables of the server. */
  readonly environment?: Readonly<Record<string, string>>
  /** The records in the response to a list request. */
  readonly recordsOf: (response: unknown) => readonly unknown[]
  /** The record in the response to the other requests. Default: the response. */
  readonly recordOf?: (response: unknown) => unknown
  /**
   * Which parts of responses must equal those of `ours`: the records, the whole bodies, or also the status and the headers.
   * Default: the records.
   */
  readonly equal?: 'records' | 'body' | 'response'
}

/** An implementation on an engine. */
export interface Deployment {
  /** `ours` on SQLite, `ours-postgres`, … */
  readonly name: string
  readonly implementation: Implementation
  readonly engine: Engine
  readonly requests: Requests
}

/** The peers have a package of their own. */
const peers = '../peers/dist/peers'
const inObjects = (response: unknown) => Object(response).objects
const inData = (response: unknown) => Object(response).data

const { list, item, create, update } = plainRequests

const implementations: readonly Implementation[] = [
  {
    name: 'ours',
    title: 'typeorm-resources',
    server: 'servers/ours.js',
    requests: ownRequests,
    recordsOf: inObjects,
  },
  {
    name: 'ours-300',
    title: 'typeorm-resources, 300 entities',
    server: 'servers/ours.js',
    engines: ['sqlite'],
    requests: { ...(list && { list }), ...(item && { item }) },
    environment: { BENCH_ENTITIES: '300' },
    recordsOf: inObjects,
    equal: 'response',
  },
  {
    name: 'ours-all',
    title: 'typeorm-resources, all features',
    server: 'servers/ours-all.js',
    requests: plainRequests,
    recordsOf: inObjects,
    equal: 'body',
  },
  {
    name: 'ours-all-without-audit',
    title: 'typeorm-resources, all features but the audit log',
    server: 'servers/ours-all.js',
    requests: { ...(create && { create }), ...(update && { update }) },
    environment: { BENCH_AUDIT: 'false' },
    recordsOf: inObjects,
    equal: 'body',
  },
  {
    name: 'limit',
    title: 'Koa, router, body parser, prepared statements of the driver',
    server: 'servers/limit.js',
    requests: plainRequests,
    recordsOf: inObjects,
    equal: 'response',
  },
  {
    name: 'node-http',
    title: 'node:http, prepared statements of the driver',
    server: 'servers/node-http.js',
    engines: ['sqlite'],
    requests: plainRequests,
    recordsOf: inObjects,
    equal: 'response',
  },
  {
    name: 'typeorm-people',
    title: 'Koa, TypeORM with findAndCount and save',
    server: 'servers/typeorm-people.js',
    requests: plainRequests,
    // It does not respond to all of these requests within ten seconds.
    unsupported: { mariadb: ['filter', 'list500'] },
    recordsOf: inData,
  },
  {
    name: 'typeorm-experts',
    title: 'Koa, TypeORM with find, insert and update',
    server: 'servers/typeorm-experts.js',
    requests: plainRequests,
    recordsOf: inData,
  },
  {
    name: 'remult',
    title: 'remult, Fastify',
    server: `${peers}/remult.mjs`,
    requests: remultRequests,
    recordsOf: (response) => Object(response),
  },
  {
    name: 'nest-paginate',
    title: 'Nest, Fastify, TypeORM, nestjs-paginate',
    server: `${peers}/nest-paginate.js`,
    requests: nestPaginateRequests,
    recordsOf: inData,
  },
  {
    name: 'nest-crud',
    title: 'Nest, Fastify, TypeORM, @dataui/crud',
    server: `${peers}/nest-crud.js`,
    requests: nestCrudRequests,
    recordsOf: (response) => Object(response).data ?? response,
  },
  {
    name: 'zenstack',
    title: 'ZenStack 3, Fastify, RPC',
    server: `${peers}/zenstack.mjs`,
    requests: zenstackRequests,
    // The dialect for MySQL writes a correlated derived table, which MariaDB does not support.
    unsupported: { mariadb: ['join'] },
    recordsOf: inData,
    recordOf: inData,
  },
]

export const deployments: readonly Deployment[] = engines.flatMap((engine) =>
  implementations
    .filter((implementation) => implementation.engines?.includes(engine) ?? true)
    .map((implementation) => ({
      name: engine === 'sqlite' ? implementation.name : `${implementation.name}-${engine}`,
      implementation,
      engine,
      requests: requestsOn(engine, implementation),
    })),
)

function requestsOn(engine: Engine, { requests, unsupported = {} }: Implementation): Requests {
  const names: readonly string[] = unsupported[engine] ?? []
  return Object.fromEntries(Object.entries(requests).filter(([work]) => !names.includes(work)))
}
