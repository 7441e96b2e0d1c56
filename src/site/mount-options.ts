import { anonymous, type Rule, readOnlyRule } from '../access/rule'
import type { ApiInfo } from '../openapi/document'
import { defaultLimits, type Limits, type PageLimits, type RequestLimits } from '../request/limits'
import type { ResourceRegistration, UserRegistration } from '../schema/registration'

/** What can be said of a mount; every option may be left out. */
export interface MountOptions {
  /** Path before the resources' names. Default: `/api`. */
  readonly prefix?: string
  /** The rule of resources without their own. Default: `readOnlyRule()`. */
  readonly defaultAuth?: Rule
  /** Page sizes of lists. Default: `{ default: 20, max: 1000 }`. */
  readonly limit?: Partial<PageLimits>
  /** How much a request may ask for, where it is not the defaults of {@link RequestLimits}. */
  readonly limits?: Partial<RequestLimits>
  /** Origins whose pages may write, besides our own: `['https://admin.example.org']`. Default: none. */
  readonly allowedOrigins?: readonly string[]
  /**
   * Signs the tokens of keyset paging, so that nobody can make one up; the same for all processes of a site. Default: none, and a
   * token shows only whether it was damaged.
   */
  readonly pagingSecret?: string
  /** How long a request waits for a connection to the database, in milliseconds; then it is 503. Default: 5,000. */
  readonly waitLimit?: number
  /**
   * How long a SQL statement of this service may take, in milliseconds; then the database ends it, and the request is 503. 0 for no limit.
   * Default: 10,000.
   */
  readonly statementTimeout?: number
  /** Whether transactions on a SQLite data source wait for each other: see `lockSqlite`. Default: true. */
  readonly sqliteLock?: boolean
  /** Whether `GET {prefix}/health/` says if the database answers (200) or not (503), to everybody. Default: false. */
  readonly health?: boolean
  /**
   * Whether `GET {prefix}/openapi.json` describes what is mounted, and `GET {prefix}/` lists it; a rule says who may read that.
   * Default: true, everybody.
   */
  readonly openapi?: boolean | Rule
  /** What the description says of the whole: title, version, description, contact, license. */
  readonly info?: ApiInfo
  /**
   * Whether a browser finds a page to look at records at `{prefix}/`, and Swagger UI at `{prefix}/docs/`. Default: true, with
   * `openapi`.
   */
  readonly explorer?: boolean
  /** Whether answers say in `Server-Timing` what they have cost. Default: false. */
  readonly serverTiming?: boolean
  /** What `@UserAccount` says, for an entity that carries no decorator. */
  readonly users?: UserRegistration
  /** Entities that carry no `@Resource`, each with its options. */
  readonly resources?: readonly ResourceRegistration[]
}

/** The options with their defaults. */
export interface MountSettings
  extends Required<
    Omit<MountOptions, 'prefix' | 'limit' | 'limits' | 'users' | 'pagingSecret' | 'openapi' | 'statementTimeout'>
  > {
  /** The prefix without a slash at its end. */
  readonly base: string
  readonly limits: Limits
  /** `statementTimeout`; Infinity for none. */
  readonly timeLimit: number
  readonly users: UserRegistration | undefined
  readonly pagingSecret: string | undefined
  /** Who may read the description; false for nobody. */
  readonly openapi: Rule | false
}

/** Fills in what was left out. @param options checked */
export function withDefaults(options: MountOptions): MountSettings {
  const { prefix = '/api', defaultAuth = readOnlyRule(), limit = {}, limits, users, resources = [] } = options
  const {
    allowedOrigins = [],
    waitLimit = 5000,
    statementTimeout = 10_000,
    sqliteLock = true,
    health = false,
    serverTiming = false,
    openapi = true,
    info = {},
    explorer = true,
    pagingSecret,
  } = options
  const { max = 1000, default: size = Math.min(20, max) } = limit
  return {
    base: prefix.replace(/\/$/, ''),
    defaultAuth,
    limits: { ...defaultLimits, ...given(limits), page: { default: size, max } },
    users,
    resources,
    allowedOrigins,
    pagingSecret,
    waitLimit,
    timeLimit: statementTimeout === 0 ? Number.POSITIVE_INFINITY : statementTimeout,
    sqliteLock,
    health,
    openapi: openapi === true ? everybody : openapi,
    info: given(info),
    explorer,
    serverTiming,
  }
}

const everybody: Rule = () => anonymous

/** What was not left out. */
function given<Options extends object>(options: Options = {} as Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options
}
