import { defaultLimits, maxRecordBytes } from '../request/limits'
import { checkOptionNames } from '../schema/registration'
import { maxTimerMs } from '../timers'
import { type MountOptions, withDefaults } from './mount-options'

/** What an option must be, in words, and whether a value is it. */
type Expectation = readonly [what: string, isMet: (value: unknown) => boolean]

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const flag: Expectation = ['true or false', (value) => typeof value === 'boolean']
const rule: Expectation = ['a rule, as userRule()', (value) => typeof value === 'function']

const expectations: Readonly<Record<keyof MountOptions, Expectation>> = {
  prefix: ['a path as "/api"', (value) => typeof value === 'string' && /^(\/[\w.~-]+)*\/?$/.test(value)],
  defaultAuth: rule,
  limit: ['{ default, max } with integers', (value) => isObject(value) && hasOnly(value, ['default', 'max'])],
  limits: ['an object of limits', isObject],
  allowedOrigins: ['an array of origins, as "https://example.org"', Array.isArray],
  pagingSecret: ['a text of 16 characters or more', (value) => typeof value === 'string' && value.length >= 16],
  waitLimit: [`milliseconds from 1 to ${maxTimerMs}`, (value) => isCount(value) && Number(value) <= maxTimerMs],
  statementTimeout: [
    `milliseconds from 1 to ${maxTimerMs}, or 0 for no limit`,
    (value) => value === 0 || (isCount(value) && Number(value) <= maxTimerMs),
  ],
  sqliteLock: flag,
  health: flag,
  openapi: ['true, false or a rule, as userRule()', (value) => ['boolean', 'function'].includes(typeof value)],
  info: ['{ title, version, description, contact, license }, of which the first three are texts', isInfo],
  explorer: flag,
  serverTiming: flag,
  users: ['{ entity, … }', isObject],
  resources: ['an array of { entity, … }', (value) => Array.isArray(value) && value.every(isObject)],
}

/** The options that can be used, and every mistake in them that can be seen without the data source. */
export interface CheckedOptions {
  readonly usable: MountOptions
  readonly mistakes: readonly string[]
}

export function checkOptions(options: MountOptions): CheckedOptions {
  if (!isObject(options)) return { usable: {}, mistakes: [`the options must be an object, not ${show(options)}`] }
  const mistakes: string[] = []
  const report = (mistake: string): void => void mistakes.push(mistake)
  checkOptionNames(options, expectations, report)
  const isUsable = ([name, value]: [string, unknown]): boolean => {
    const [what, isMet] = expectations[name as keyof MountOptions] ?? ['', () => false]
    if (value === undefined || isMet(value)) return true
    // A secret is not for logs.
    const shown = name === 'pagingSecret' && typeof value === 'string' ? 'a shorter one' : show(value)
    if (what !== '') report(`"${name}" must be ${what}, not ${shown}`)
    return false
  }
  const usable: MountOptions = Object.fromEntries(Object.entries(options).filter(isUsable))
  checkLimits(usable, report)
  checkBytes(usable, report)
  checkOrigins(usable.allowedOrigins ?? [], report)
  checkPageSizes(usable, report)
  return { usable, mistakes }
}

function checkLimits({ limits = {} }: MountOptions, report: (mistake: string) => void): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(defaultLimits, name)) {
      report(`"${name}" is no limit; limits: ${Object.keys(defaultLimits).join(', ')}`)
    } else if (value !== undefined && !isCount(value)) {
      report(`"limits.${name}" must be an integer from 1, not ${show(value)}`)
    }
  }
}

function checkBytes({ limits = {} }: MountOptions, report: (mistake: string) => void): void {
  for (const name of ['pageBytes', 'itemBytes'] as const) {
    if (Number(limits[name]) > maxRecordBytes) {
      report(`"limits.${name}" must be at most ${maxRecordBytes}: its JSON would be longer than a string may be`)
    }
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
    const own = typeof origin === 'string' && URL.canParse(origin) ? new URL(origin).origin : 'https://example.org'
    if (origin !== own) report(`"allowedOrigins" has ${show(origin)}; an origin is scheme and host, as "${own}"`)
  }
}

function isInfo(value: unknown): boolean {
  const { title, version, description, contact, license, ...others } = Object(value)
  const texts = [title, version, description].filter((text) => text !== undefined)
  const objects = [contact, license].filter((part) => part !== undefined)
  const isEmpty = Object.keys(others).length === 0
  return isObject(value) && isEmpty && texts.every((text) => typeof text === 'string') && objects.every(isObject)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1
}

function hasOnly(value: unknown, names: readonly string[]): boolean {
  return Object.keys(Object(value)).every((name) => names.includes(name))
}

/** As it was written; JSON has no functions, and no NaN. */
function show(value: unknown): string {
  return typeof value === 'number' || typeof value === 'function' ? String(value) : JSON.stringify(value)
}
