import { nestCrudRequests, nestPaginateRequests, remultRequests } from './peer-requests'
import { ownRequests, plainRequests, type Requests } from './work'

/** One of those who are measured. */
export interface Contestant {
  readonly name: string
  /** What it is, in the table. */
  readonly title: string
  /** The compiled server, from this folder's `dist`. */
  readonly server: string
  readonly engine: 'sqlite' | 'postgres'
  readonly requests: Requests
  /** What its server is told besides its database. */
  readonly environment?: Readonly<Record<string, string>>
  /** The records in what a list answers. */
  readonly recordsOf: (list: unknown) => readonly unknown[]
}

/** A package of their own. */
const peers = '../peers/dist/peers'
const inObjects = (list: unknown) => Object(list).objects
const inData = (list: unknown) => Object(list).data

const { list, item } = plainRequests

export const contestants: readonly Contestant[] = [
  {
    name: 'ours',
    title: 'typeorm-resources',
    server: 'servers/ours.js',
    engine: 'sqlite',
    requests: ownRequests,
    recordsOf: inObjects,
  },
  {
    name: 'ours-300',
    title: 'typeorm-resources, 300 entities',
    server: 'servers/ours.js',
    engine: 'sqlite',
    requests: { ...(list && { list }), ...(item && { item }) },
    environment: { BENCH_ENTITIES: '300' },
    recordsOf: inObjects,
  },
  {
    name: 'limit',
    title: 'Koa, router, body parser, prepared statements',
    server: 'servers/limit.js',
    engine: 'sqlite',
    requests: plainRequests,
    recordsOf: inObjects,
  },
  {
    name: 'node-http',
    title: 'node:http, prepared statements',
    server: 'servers/node-http.js',
    engine: 'sqlite',
    requests: plainRequests,
    recordsOf: inObjects,
  },
  {
    name: 'typeorm-people',
    title: 'Koa, TypeORM as people write it',
    server: 'servers/typeorm-people.js',
    engine: 'sqlite',
    requests: plainRequests,
    recordsOf: inData,
  },
  {
    name: 'typeorm-experts',
    title: 'Koa, TypeORM as experts write it',
    server: 'servers/typeorm-experts.js',
    engine: 'sqlite',
    requests: plainRequests,
    recordsOf: inData,
  },
  {
    name: 'remult',
    title: 'remult, Fastify',
    server: `${peers}/remult.mjs`,
    engine: 'sqlite',
    requests: remultRequests,
    recordsOf: (list) => Object(list),
  },
  {
    name: 'nest-paginate',
    title: 'Nest, Fastify, TypeORM, nestjs-paginate',
    server: `${peers}/nest-paginate.js`,
    engine: 'sqlite',
    requests: nestPaginateRequests,
    recordsOf: inData,
  },
  {
    name: 'nest-crud',
    title: 'Nest, Fastify, TypeORM, @dataui/crud',
    server: `${peers}/nest-crud.js`,
    engine: 'sqlite',
    requests: nestCrudRequests,
    recordsOf: (list) => Object(list).data ?? list,
  },
  {
    name: 'ours-postgres',
    title: 'typeorm-resources, PostgreSQL',
    server: 'servers/ours.js',
    engine: 'postgres',
    requests: ownRequests,
    recordsOf: inObjects,
  },
  {
    name: 'limit-postgres',
    title: 'Koa, router, body parser, pg with named statements',
    server: 'servers/limit.js',
    engine: 'postgres',
    requests: plainRequests,
    recordsOf: inObjects,
  },
]
