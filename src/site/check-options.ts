import type { DataSource } from 'typeorm'
import { dialectOf } from '../dialect/dialect-of'
import { defaultLimits, maxJoins, maxRecordBytes } from '../request/limits'
import { checkOptionNames } from '../schema/registration'
import { maxTimerMs } from '../timers'
import { type MountOptions, withDefaults } from './mount-options'

/** Valid values of an option: a description that completes "must be …", and a predicate. */
type Expectation = readonly [description: string, isMet: (value: unknown) => boolean]

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const flag: Expectation = ['true or false', (value) => typeof value === 'boolean']
const rule: Expectation = ['a rule such as userRule()', (value) => typeof value === 'function']

const expectations: Readonly<Record<keyof MountOptions, Expectation>> = {
  prefix: ['a path such as "/api"', (value) => typeof value === 'string' && /^(\/[\w.~-]+)*\/?$/.test(value)],
  defaultAuth: rule,
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
  users: ['{ entity, … }', isObject],
  resources: ['an array of { entity, … }', (value) => Array.isArray(value) && value.every(isObject)],
}

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
  const isUsable = ([name, value]: [string, unknown]): boolean => {
    // `checkOptionNames` has already reported an unknown name.
    const [description, isMet] = expectations[name as keyof MountOptions] ?? ['', () => false]
    if (value === undefined || isMet(value)) return true
    // The message may be logged, so it must not contain the secret.
    const shown = name === 'pagingSecret' && typeof value === 'string' ? 'a shorter one' : show(value)
    if (description !== '') report(`"${name}" must be ${description}, not ${shown}`)
    return false
  }
  const usable: MountOptions = Object.fromEntries(Object.entries(options).filter(isUsable))
  checkLimits(usable, report)
  checkMaxima(usable, report)
  checkOrigins(usable.allowedOrigins ?? [], report)
  checkPageSizes(usable, report)
  return { usable, mistakes }
}

/** Checks the options that not all databases support. @param dataSource of a supported type */
export function checkDatabaseOptions({ databaseSettings }: MountOptions, dataSource: DataSource): readonly string[] {
  if (databaseSettings === undefined || dialectOf(dataSource).settings?.isSupported(dataSource)) return []
  const { type } = dataSource.options
  return [`"databaseSettings" requires PostgreSQL with the package pg, not ${type === 'postgres' ? 'pg-native' : type}`]
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
  if (Number(limits.joins) > maxJoins) {
    report(`"limits.joins" must be at most ${maxJoins}: statements could have more values than databases accept`)
  }
}

function checkPageSizes(options: MountOptions, report: (mistake: string) => void): void {
  const { page, depth } = withDefaults(options).limits
  if (!isCount(page.default) || !isCount(page.max) || page.default > page.max) {
    report(`"limit" must be { default, max } with integers, 1 <= default <= max, not ${show(options.limit)}`)
  } else if (isCount(depth) && page.max > depth) {
    report(`"limit.max" is ${page.max}, more than the ${depth} records that "limits.depth" lets pages reach`)
  }
}

function checkOrigins(origins: readonly unknown[], report: (mistake: string) => void): void {
  for (const origin of origins) {
    const expected = typeof origin === 'string' && URL.canParse(origin) ? new URL(origin).origin : 'https://example.org'
    if (origin !== expected) {
      report(`"allowedOrigins" has ${show(origin)}; an origin is a scheme and a host, such as "${expected}"`)
    }
  }
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

/** Text of a value for error messages. JSON alone cannot represent functions and NaN. */
function show(value: unknown): string {
  return typeof value === 'number' || typeof value === 'function' ? String(value) : JSON.stringify(value)
}
