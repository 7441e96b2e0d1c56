import type { DataSource } from 'typeorm'
import { dialectOf } from '../dialect/dialect-of'
import { checkOptionNames, requireDefined } from '../option-mistakes'
import { defaultLimits, maxJoins, maxNested, maxRecordBytes } from '../request/limits'
import { maxTimerMs } from '../timers'
import { isMcpSdkInstalled } from './mcp/sdk'
import { type MountOptions, withDefaults } from './mount-options'

/** Valid values of an option: a description that completes "must be …", and a predicate. */
type Expectation = readonly [description: string, isMet: (value: unknown) => boolean]

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const flag: Expectation = ['true or false', (value) => typeof value === 'boolean']
const rule: Expectation = ['a rule such as userRule()', (value) => typeof value === 'function']

const expectations: Readonly<Record<keyof MountOptions, Expectation>> = {
  prefix: ['a path such as "/api"', (value) => typeof value === 'string' && /^(\/[\w.~-]+)*\/?$/.test(value)],
  defaultAuth: rule,
  authenticators: ['an array of authenticators, each created by a call such as basic()', isAuthenticators],
  failedLogins: [
    '{ byName, byAddress } with limiters of rate-limiter-flexible, such as new RateLimiterMemory({ … })',
    isFailedLogins,
  ],
  passwordChange: flag,
  batch: [
    'true, false or the maximum number of operations, an integer from 1',
    (value) => typeof value === 'boolean' || isCount(value),
  ],
  mcp: flag,
  live: ["true, false, or { relay } with 'postgres' or a client of ioredis", isLive],
  audit: [
    '{ entity } with an entity of the data source',
    (value) => isObject(value) && Object.hasOwn(Object(value), 'entity'),
  ],
  limit: ['{ default, max } with integers', (value) => isObject(value) && hasOnly(value, ['default', 'max'])],
  limits: ['an object of limits', isObject],
  allowedOrigins: ['an array of origins such as "https://example.org"', Array.isArray],
  pagingSecret: ['a string of at least 16 characters', (value) => typeof value === 'string' && value.length >= 16],
  waitLimit: [`milliseconds from 1 to ${maxTimerMs}`, (value) => isCount(value) && Number(value) <= maxTimerMs],
  statementTimeout: [
    `milliseconds from 1 to ${maxTimerMs}, or 0 for no limit`,
    (value) => value === 0 || (isCount(value) && Number(value) <= maxTimerMs),
  ],
  sqliteLock: flag,
  escapeFormulas: flag,
  health: flag,
  openapi: ['true, false or a rule such as userRule()', (value) => ['boolean', 'function'].includes(typeof value)],
  info: [
    '{ title, version, description, contact, license } with strings for the first three and objects for the others',
    isInfo,
  ],
  explorer: flag,
  serverTiming: flag,
  requireScope: flag,
  strictRelations: flag,
  forbidden: ['401 or 403', (value) => value === 401 || value === 403],
  databaseSettings: ['a function that returns the settings of a principal', (value) => typeof value === 'function'],
  users: ['{ entity: SomeClass, … }', isObject],
  resources: ['an array of { entity: SomeClass, … }', (value) => Array.isArray(value) && value.every(isObject)],
}

/** Options that restrict access: the default of each permits more than another value. */
const restrictions = ['defaultAuth', 'requireScope', 'strictRelations'] as const

/** Options without their invalid members, and every mistake that can be found without the data source. */
export interface CheckedOptions {
  readonly usable: MountOptions
  readonly mistakes: readonly string[]
}

/** Checks the options of a mount, except for what needs the data source. */
export function checkOptions(options: MountOptions): CheckedOptions {
  if (!isObject(options)) return { usable: {}, mistakes: [`the options must be an object, not ${show(options)}`] }
  const mistakes: string[] = []
  const report = (mistake: string): void => void mistakes.push(mistake)
  checkOptionNames(options, expectations, report)
  requireDefined(options, restrictions, report)
  const isUsable = ([name, value]: [string, unknown]): boolean => {
    // `checkOptionNames` has already reported an unknown name.
    const [description, isMet] = expectations[name as keyof MountOptions] ?? ['', () => false]
    if (value === undefined || isMet(value)) return true
    if (description !== '') report(`"${name}" must be ${description}, ${shownOption(name, value)}`)
    return false
  }
  const usable: MountOptions = Object.fromEntries(Object.entries(options).filter(isUsable))
  checkLimits(usable, report)
  checkMaxima(usable, report)
  checkOrigins(usable.allowedOrigins ?? [], report)
  checkPageSizes(usable, report)
  if (usable.explorer && usable.openapi === false) report('"explorer" requires "openapi", which is false')
  checkSchemes(usable, report)
  if (usable.mcp && !isMcpSdkInstalled()) {
    report('"mcp" requires the package @modelcontextprotocol/sdk: run npm install @modelcontextprotocol/sdk')
  }
  return { usable, mistakes }
}

/** Checks the options that not all databases support. @param dataSource of a supported type */
export function checkDatabaseOptions(
  { databaseSettings, live }: MountOptions,
  dataSource: DataSource,
): readonly string[] {
  const { type } = dataSource.options
  const mistakes: string[] = []
  if (databaseSettings !== undefined && !dialectOf(dataSource).settings?.isSupported(dataSource)) {
    const driver = type === 'postgres' ? 'pg-native' : type
    mistakes.push(`"databaseSettings" requires PostgreSQL with the package pg, not ${driver}`)
  }
  if (typeof live === 'object' && live.relay === 'postgres' && type !== 'postgres') {
    mistakes.push(`"live.relay" is 'postgres', but the data source is ${type}: use a client of ioredis`)
  }
  return mistakes
}

function checkLimits({ limits = {} }: MountOptions, report: (mistake: string) => void): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(defaultLimits, name)) {
      report(`unknown limit "${name}"; limits: ${Object.keys(defaultLimits).join(', ')}`)
    } else if (value !== undefined && !isCount(value)) {
      report(`"limits.${name}" must be an integer from 1, not ${show(value)}`)
    }
  }
}

function checkMaxima({ limits = {} }: MountOptions, report: (mistake: string) => void): void {
  for (const name of ['pageBytes', 'itemBytes'] as const) {
    if (Number(limits[name]) > maxRecordBytes) {
      report(`"limits.${name}" must be at most ${maxRecordBytes}: larger JSON could exceed the maximum string length`)
    }
  }
  for (const name of ['liveHeartbeat', 'liveCheck'] as const) {
    if (Number(limits[name]) > maxTimerMs) {
      report(`"limits.${name}" must be at most ${maxTimerMs}: Node.js repeats longer intervals every millisecond`)
    }
  }
  if (Number(limits.nested) > maxNested) {
    report(`"limits.nested" must be at most ${maxNested}: statements could have more values than databases accept`)
  }
  if (Number(limits.joins) > maxJoins) {
    report(`"limits.joins" must be at most ${maxJoins}: statements could have more values than databases accept`)
  }
}

function checkPageSizes(options: MountOptions, report: (mistake: string) => void): void {
  const { page, depth } = withDefaults(options).limits
  if (!isCount(page.default) || !isCount(page.max) || page.default > page.max) {
    report(`"limit" must be { default, max } with integers, 1 <= default <= max, not ${show(options.limit)}`)
  } else if (isCount(depth) && page.max > depth) {
    report(`"limit.max" is ${page.max}, more than the ${depth} records that "limits.depth" permits`)
  }
}

function checkOrigins(origins: readonly unknown[], report: (mistake: string) => void): void {
  for (const origin of origins) {
    const expected = suggestedOrigin(typeof origin === 'string' ? origin : '')
    if (origin !== expected) {
      report(`"allowedOrigins" has ${show(origin)}; an origin is a scheme and a host, such as "${expected}"`)
    }
  }
}

/** The origin of a URL, or of a host without a scheme; an example for any other text. */
function suggestedOrigin(text: string): string {
  const url = /^[\w.-]+(:\d+)?$/.test(text) ? `http://${text}` : text
  return /^https?:/.test(url) && URL.canParse(url) ? new URL(url).origin : 'https://example.org'
}

/** Whether a value is an array of objects that a function such as `basic()` has returned, of different schemes. */
function isAuthenticators(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof Object(one).prepare === 'function')
}

/** Checks that the scheme of a request selects one authenticator. */
function checkSchemes({ authenticators = [] }: MountOptions, report: (mistake: string) => void): void {
  const schemes = authenticators.map(({ scheme }) => scheme.toLowerCase())
  const repeated = authenticators.find(({ scheme }, index) => schemes.indexOf(scheme.toLowerCase()) < index)
  if (repeated === undefined) return
  report(`"authenticators" has several authenticators of the scheme ${repeated.scheme}; each scheme can have only one`)
}

function isFailedLogins(value: unknown): boolean {
  const isLimiter = (limiter: unknown): boolean => {
    const { points, get, consume } = Object(limiter)
    return isCount(points) && typeof get === 'function' && typeof consume === 'function'
  }
  const limiters = Object.values(Object(value)).filter((limiter) => limiter !== undefined)
  return isObject(value) && hasOnly(value, ['byName', 'byAddress']) && limiters.every(isLimiter)
}

function isLive(value: unknown): boolean {
  const { relay } = Object(value)
  const isRedis = typeof relay?.publish === 'function' && typeof relay.duplicate === 'function'
  return (
    typeof value === 'boolean' || (isObject(value) && hasOnly(value, ['relay']) && (relay === 'postgres' || isRedis))
  )
}

function isInfo(value: unknown): boolean {
  const { title, version, description, contact, license, ...others } = Object(value)
  const strings = [title, version, description].filter((member) => member !== undefined)
  const objects = [contact, license].filter((part) => part !== undefined)
  const isEmpty = Object.keys(others).length === 0
  return isObject(value) && isEmpty && strings.every((member) => typeof member === 'string') && objects.every(isObject)
}

/** Whether a value is an integer from 1. */
function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1
}

function hasOnly(value: unknown, names: readonly string[]): boolean {
  return Object.keys(Object(value)).every((name) => names.includes(name))
}

/** Text of an option for error messages, which may be logged, so they must not contain a secret or a client of a store. */
function shownOption(name: string, value: unknown): string {
  if (name === 'failedLogins' && isObject(value)) return `not an object with ${Object.keys(Object(value)).join(', ')}`
  return `not ${name === 'pagingSecret' && typeof value === 'string' ? 'a shorter one' : show(value)}`
}

/** Text of a value for error messages. JSON alone cannot represent functions, classes and NaN. */
function show(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'function') return nameOf(value)
  return JSON.stringify(value, (_, member: unknown) => (typeof member === 'function' ? nameOf(member) : member))
}

/** Names a function or class, without its source code. */
function nameOf(value: { readonly name: string }): string {
  const kind = String(value).startsWith('class') ? 'class' : 'function'
  return `the ${kind} ${value.name}`.trimEnd()
}
