import type { EntityTarget, ObjectLiteral } from 'typeorm'
import type { Authenticator } from '../access/authenticator'
import { basic } from '../access/passwords/basic-authenticator'
import type { FailedLoginLimits } from '../access/passwords/failed-logins'
import { anonymous, type Principal, type Rule, readOnlyRule } from '../access/rule'
import type { RedisClient } from '../connection/relays/redis'
import type { ApiInfo } from '../openapi/document'
import { defaultLimits, type Limits, type PageLimits, type RequestLimits } from '../request/limits'
import type { ResourceRegistration, UserRegistration } from '../schema/registration'

/** Options of live lists. */
export interface LiveOptions {
  /** Passes changes to the other processes: by NOTIFY of PostgreSQL, or by a client of `ioredis`. */
  readonly relay: 'postgres' | RedisClient
}

/** Options of a mount. All of them are optional. */
export interface MountOptions {
  /** Path of the mount, which precedes the names of resources. Default: `/api`. */
  readonly prefix?: string
  /** Access rule of resources that have none of their own. Default: `readOnlyRule()`. */
  readonly defaultAuth?: Rule
  /**
   * How requests are authenticated: `[basic(), custom({ … })]`, one authenticator for each scheme of the header
   * `Authorization`.
   * Default: `[basic()]`.
   */
  readonly authenticators?: readonly Authenticator[]
  /**
   * Limits on wrong passwords by user name and by network address, with limiters of the package `rate-limiter-flexible`.
   * Default: none.
   */
  readonly failedLogins?: FailedLoginLimits
  /**
   * Whether users of `@UserAccount` can change their own password: `POST {prefix}/-/password` with `{ old, new }`.
   * Default: false.
   */
  readonly passwordChange?: boolean
  /**
   * Whether `POST {prefix}/-/batch` runs several writes in one transaction: true for at most 100, or the maximum number.
   * Default: false.
   */
  readonly batch?: boolean | number
  /**
   * Whether `POST {prefix}/-/mcp` serves agents: the Model Context Protocol over streamable HTTP, whose tools act as the user of
   * the request. It requires the package `@modelcontextprotocol/sdk`. Default: false.
   */
  readonly mcp?: boolean
  /**
   * Whether lists and records can be live: a GET with `Accept: text/event-stream` receives their changes as server-sent events.
   * If several processes serve the same database, `{ relay: 'postgres' }` or `{ relay: redis }` with a client of `ioredis`
   * passes the changes to the others. Default: false.
   */
  readonly live?: boolean | LiveOptions
  /**
   * Stores who has changed which record from what to what, in the transaction of the write: `{ entity: LogEntry }`. The entity
   * has columns for `resource`, `record` (the key as a text), `action`, `principal` (the id, or null), and `changes`, an
   * object. If it is a resource, its option `preset` sets other properties of entries, and nobody can write them unless its
   * option `may` permits it. Default: nothing is stored.
   */
  readonly audit?: { readonly entity: EntityTarget<ObjectLiteral> }
  /** Page sizes of lists. Default: `{ default: 20, max: 1000 }`. */
  readonly limit?: Partial<PageLimits>
  /**
   * Whether lists in CSV have an apostrophe before texts that spreadsheets would run as formulas. Default: true.
   */
  readonly escapeFormulas?: boolean
  /** Limits on the size and cost of requests. Defaults: see {@link RequestLimits}. */
  readonly limits?: Partial<RequestLimits>
  /**
   * Whether every resource must have the option `scope`, so that no records are visible to all users by mistake. Default: false.
   */
  readonly requireScope?: boolean
  /**
   * Whether filters, orderings and foreign keys reach only the records of resources whose access rules permit reading
   * them. Without this option, that is so for resources with `scope`, `may` or `fields`. Default: false.
   */
  readonly strictRelations?: boolean
  /**
   * Status for a user with correct credentials whom an access rule refuses: 403 instead of 401. Default: 401.
   */
  readonly forbidden?: 401 | 403
  /**
   * Settings of PostgreSQL for the transactions of a request, for example for policies of row level security:
   * `(principal) => ({ 'app.user_id': String(principal.id) })`. They apply to all statements of a request after its
   * access rule. Default: none.
   */
  readonly databaseSettings?: (principal: Principal) => Readonly<Record<string, string | number | boolean>>
  /** Other origins whose pages may write: `['https://admin.example.org']`. Default: none. */
  readonly allowedOrigins?: readonly string[]
  /**
   * Secret that signs the tokens of keyset paging, so that they cannot be forged. It must be the same for all processes
   * of a site. Default: none; then only damaged tokens are detected.
   */
  readonly pagingSecret?: string
  /**
   * Maximum time that a request waits for a database connection, in milliseconds; then it is refused with 503.
   * Default: 5,000.
   */
  readonly waitLimit?: number
  /**
   * Maximum time of a SQL statement of this service, in milliseconds; then the database cancels it, and the request is
   * refused with 503. 0 for no limit. Default: 10,000.
   */
  readonly statementTimeout?: number
  /** Whether transactions on a SQLite data source wait for each other; see `lockSqlite`. Default: true. */
  readonly sqliteLock?: boolean
  /**
   * Whether `GET {prefix}/health/` reports to all clients whether the database responds (200) or not (503).
   * Default: false.
   */
  readonly health?: boolean
  /**
   * Whether `GET {prefix}/openapi.json` serves the OpenAPI document, and `GET {prefix}/` the list of resources. A rule
   * restricts who may read them. Default: true, for all clients.
   */
  readonly openapi?: boolean | Rule
  /** Object `info` of the OpenAPI document: title, version, description, contact, license. */
  readonly info?: ApiInfo
  /**
   * Whether `{prefix}/` serves the explorer to browsers, and `{prefix}/docs/` Swagger UI. It requires `openapi`.
   * Default: true.
   */
  readonly explorer?: boolean
  /**
   * Whether responses have a `Server-Timing` header: the number and total time of the SQL statements, and the time of
   * the whole request. Default: false.
   */
  readonly serverTiming?: boolean
  /** Options of `@UserAccount` for an entity without the decorator. */
  readonly users?: UserRegistration
  /** Entities without the decorator `@Resource`, each with its options. */
  readonly resources?: readonly ResourceRegistration[]
}

/** Options of a mount with their defaults applied. */
export interface MountSettings
  extends Required<
    Omit<
      MountOptions,
      | 'prefix'
      | 'limit'
      | 'limits'
      | 'users'
      | 'pagingSecret'
      | 'openapi'
      | 'statementTimeout'
      | 'databaseSettings'
      | 'failedLogins'
      | 'batch'
      | 'audit'
      | 'live'
    >
  > {
  /** `prefix` without a trailing slash. */
  readonly base: string
  readonly limits: Limits
  /** `statementTimeout`; Infinity for no limit. */
  readonly timeLimit: number
  readonly users: UserRegistration | undefined
  readonly pagingSecret: string | undefined
  readonly databaseSettings: MountOptions['databaseSettings']
  readonly failedLogins: FailedLoginLimits | undefined
  readonly audit: MountOptions['audit']
  readonly live: boolean | LiveOptions
  /** Maximum number of operations in a batch; 0 if there are no batches. */
  readonly batch: number
  /** Rule for reading the OpenAPI document; false if it is not served. */
  readonly openapi: Rule | false
}

/** Applies the defaults. @param options options that `checkOptions` has checked */
export function withDefaults(options: MountOptions): MountSettings {
  const { prefix = '/api', defaultAuth = readOnlyRule(), limit = {}, limits, users, resources = [] } = options
  const {
    authenticators = [basic()],
    allowedOrigins = [],
    waitLimit = 5000,
    statementTimeout = 10_000,
    sqliteLock = true,
    escapeFormulas = true,
    requireScope = false,
    strictRelations = false,
    forbidden = 401,
    health = false,
    serverTiming = false,
    openapi = true,
    info = {},
    explorer = true,
    pagingSecret,
    databaseSettings,
    failedLogins,
    passwordChange = false,
    batch = false,
    mcp = false,
    live = false,
    audit,
  } = options
  const { max = 1000, default: size = Math.min(20, max) } = limit
  return {
    base: prefix.replace(/\/$/, ''),
    defaultAuth,
    authenticators,
    limits: { ...defaultLimits, ...definedOptions(limits), page: { default: size, max } },
    users,
    resources,
    allowedOrigins,
    pagingSecret,
    databaseSettings,
    failedLogins,
    passwordChange,
    batch: batch === true ? defaultBatchSize : Number(batch),
    mcp,
    live,
    audit,
    waitLimit,
    timeLimit: statementTimeout === 0 ? Number.POSITIVE_INFINITY : statementTimeout,
    sqliteLock,
    escapeFormulas,
    requireScope,
    strictRelations,
    forbidden,
    health,
    openapi: openapi === true ? publicRule : openapi,
    info: definedOptions(info),
    explorer,
    serverTiming,
  }
}

/** Maximum number of operations with the option `batch: true`. */
const defaultBatchSize = 100

/** Access rule that permits all clients. */
const publicRule: Rule = Object.assign(() => anonymous, { read: 'public' } as const)

/** Copy of the options without those that are undefined. */
function definedOptions<Options extends object>(options: Options = {} as Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options
}
