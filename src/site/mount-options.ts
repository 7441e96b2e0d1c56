import { type Rule, readOnlyRule } from '../access/rule'
import { defaultLimits, type Limits, type PageLimits, type RequestLimits } from '../request/limits'
import { checkOptionNames, type ResourceRegistration, type UserRegistration } from '../schema/registration'

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
  /** How long a request waits for a connection to the database, in milliseconds; then it is 503. Default: 5,000. */
  readonly waitLimit?: number
  /** Whether transactions on a SQLite data source wait for each other: see `lockSqlite`. Default: true. */
  readonly sqliteLock?: boolean
  /** Whether `GET {prefix}/health/` says if the database answers (200) or not (503), to everybody. Default: false. */
  readonly health?: boolean
  /** Whether answers say in `Server-Timing` what they have cost. Default: false. */
  readonly serverTiming?: boolean
  /** What `@UserAccount` says, for an entity that carries no decorator. */
  readonly users?: UserRegistration
  /** Entities that carry no `@Resource`, each with its options. */
  readonly resources?: readonly ResourceRegistration[]
}

/** The options with their defaults. */
export interface MountSettings extends Required<Omit<MountOptions, 'prefix' | 'limit' | 'limits' | 'users'>> {
  /** The prefix without a slash at its end. */
  readonly base: string
  readonly limits: Limits
  readonly users: UserRegistration | undefined
}

const optionNames: Readonly<Record<keyof MountOptions, true>> = {
  prefix: true,
  defaultAuth: true,
  limit: true,
  limits: true,
  allowedOrigins: true,
  waitLimit: true,
  sqliteLock: true,
  health: true,
  serverTiming: true,
  users: true,
  resources: true,
}

export function withDefaults(options: MountOptions): MountSettings {
  const { prefix = '/api', defaultAuth = readOnlyRule(), limit = {}, limits, users, resources = [] } = options
  const { allowedOrigins = [], waitLimit = 5000, sqliteLock = true, health = false, serverTiming = false } = options
  const { max = 1000, default: size = Math.min(20, max) } = limit
  return {
    base: prefix.replace(/\/$/, ''),
    defaultAuth,
    limits: { ...defaultLimits, ...limits, page: { default: size, max } },
    users,
    resources,
    allowedOrigins,
    waitLimit,
    sqliteLock,
    health,
    serverTiming,
  }
}

/** Every mistake in the options that can be seen without the data source. */
export function checkOptions(options: MountOptions, { limits, waitLimit }: MountSettings): readonly string[] {
  const mistakes: string[] = []
  const report = (mistake: string): void => void mistakes.push(mistake)
  checkOptionNames(options, optionNames, report)
  if (!/^(\/[\w.~-]+)*\/?$/.test(options.prefix ?? '')) {
    report(`"prefix" must be a path as "/api", not ${JSON.stringify(options.prefix)}`)
  }
  const { default: size, max } = limits.page
  const isRange = Number.isInteger(size) && Number.isInteger(max) && 1 <= size && size <= max && max <= limits.depth
  const hasOthers = Object.keys(Object(options.limit)).some((name) => name !== 'default' && name !== 'max')
  if (!isRange || hasOthers || typeof (options.limit ?? {}) !== 'object') {
    const given = JSON.stringify(options.limit)
    report(`"limit" must be { default, max } with integers, 1 <= default <= max <= ${limits.depth}, not ${given}`)
  }
  for (const [name, value] of Object.entries(options.limits ?? {})) {
    if (!Object.hasOwn(defaultLimits, name)) {
      report(`"${name}" is no limit; limits: ${Object.keys(defaultLimits).join(', ')}`)
    } else if (!isCount(value)) report(`"limits.${name}" must be an integer from 1, not ${JSON.stringify(value)}`)
  }
  if (!isCount(waitLimit)) report(`"waitLimit" must be milliseconds from 1, not ${JSON.stringify(waitLimit)}`)
  for (const name of ['sqliteLock', 'health', 'serverTiming'] as const) {
    if (typeof (options[name] ?? false) !== 'boolean') report(`"${name}" must be true or false`)
  }
  checkOrigins(options.allowedOrigins ?? [], report)
  return mistakes
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1
}

function checkOrigins(origins: unknown, report: (mistake: string) => void): void {
  if (!Array.isArray(origins)) report('"allowedOrigins" must be an array of origins, as "https://example.org"')
  for (const origin of Array.isArray(origins) ? origins : []) {
    if (typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin) continue
    report(`"allowedOrigins" has ${JSON.stringify(origin)}; an origin is scheme and host, as "https://example.org"`)
  }
}
