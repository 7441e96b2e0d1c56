import { ownRequests, type Requests } from './work'

/** One of those who are measured. */
export interface Contestant {
  readonly name: string
  /** What it is, in the table. */
  readonly title: string
  /** The compiled server, from this folder's `dist` or of a package of its own. */
  readonly server: string
  readonly engine: 'sqlite' | 'postgres'
  readonly requests: Requests
}

const { signedIn: _, refused: __, deepKeyset: ___, ...plainRequests } = ownRequests

export const contestants: readonly Contestant[] = [
  { name: 'ours', title: 'typeorm-resources', server: 'servers/ours.js', engine: 'sqlite', requests: ownRequests },
  {
    name: 'limit',
    title: 'Koa, router, body parser, prepared statements',
    server: 'servers/limit.js',
    engine: 'sqlite',
    requests: plainRequests,
  },
  {
    name: 'node-http',
    title: 'node:http, prepared statements',
    server: 'servers/node-http.js',
    engine: 'sqlite',
    requests: plainRequests,
  },
  {
    name: 'typeorm-people',
    title: 'Koa, TypeORM as people write it',
    server: 'servers/typeorm-people.js',
    engine: 'sqlite',
    requests: plainRequests,
  },
  {
    name: 'typeorm-experts',
    title: 'Koa, TypeORM as experts write it',
    server: 'servers/typeorm-experts.js',
    engine: 'sqlite',
    requests: plainRequests,
  },
  {
    name: 'ours-postgres',
    title: 'typeorm-resources, PostgreSQL',
    server: 'servers/ours.js',
    engine: 'postgres',
    requests: ownRequests,
  },
  {
    name: 'limit-postgres',
    title: 'Koa, router, body parser, pg with named statements',
    server: 'servers/limit.js',
    engine: 'postgres',
    requests: plainRequests,
  },
]
