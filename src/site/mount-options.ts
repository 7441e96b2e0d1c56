import type { Authenticator } from '../access/authenticator'
import { basic } from '../access/passwords/basic-authenticator'
import type { FailedLoginLimits } from '../access/passwords/failed-logins'
import { anonymous, type Principal, type Rule, readOnlyRule } from '../access/rule'
import type { ApiInfo } from '../openapi/document'
import { defaultLimits, type Limits, type PageLimits, type RequestLimits } from '../request/limits'
import type { ResourceRegistration, UserRegistration } from '../schema/registration'

/** Options of a mount. All of them are optional. */
export interface MountOptions {
  /** Path of the mount, in front of the names of resources. Default: `/api`. */
  readonly prefix?: string
  /** Access rule of resources that have none of their own. Default: `readOnlyRule()`. */
  readonly defaultAuth?: Rule
  /**
   * How requests prove who sends them: `[basic(), custom({ … })]`, one for each scheme of the header `Authorization`.
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
  /** Page sizes of lists. Default: `{ default: 20, max: 1000 }`. */
  readonly limit?: Partial<PageLimits>
  /**
   * Whether lists in CSV have an apostrophe in front of texts that spreadsheets would run as formulas. Default: true.
   */
  readonly escapeFormulas?: boolean
  /** Limits on the size and cost of requests. Defaults: see {@link RequestLimits}. */
  readonly limits?: Partial<RequestLimits>
  /**
   * Whether every resource must have the option `scope`, so that none is visible to everybody by mistake. Default: false.
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

/** Access rule that permits all clients. */
const publicRule: Rule = Object.assign(() => anonymous, { read: 'public' } as const)

/** Copy of the options without those that are undefined. */
function definedOptions<Options extends object>(options: Options = {} as Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options
}
