import type { EntityMetadata } from 'typeorm'
import type { Json, JsonSchema } from '../value/value-type'
import type { Field } from './field'
import { loadClassValidator } from './validation'

/**
 * Limits of a field's values in bodies that simple CHECK constraints and decorators of `class-validator` declare, as
 * keywords of JSON Schema: `{ minimum: 1, maximum: 5 }`. Rules that cannot be read are ignored: the limits may be wider than
 * the rules, never narrower.
 */
export function declaredLimits(metadata: EntityMetadata, field: Field): JsonSchema {
  const [first, ...others] = field.columns
  const { name } = field.valueType
  const isReadable = name === 'integer' || name === 'float' || name === 'text'
  // With a transformer or a password hash, another value is stored than that of the body.
  const isStored = first !== undefined && others.length === 0 && first.column.transformer === undefined
  if (!isReadable || !isStored || field.relation !== undefined || field.password) return {}
  const checked = metadata.checks.flatMap(({ expression }) => comparisonsIn(expression, first.column.databaseName))
  return [...checked, ...validatorLimits(metadata, field.property)]
    .filter((limits) => Object.keys(limits).every((keyword) => (name === 'text') === textKeywords.has(keyword)))
    .reduce((all, limits) => narrowed(all, limits), {})
}

/** Adds limits to a schema. The narrower limit of each keyword applies. */
export function narrowed(schema: JsonSchema, limits: JsonSchema): JsonSchema {
  const added = Object.entries(limits).map(([keyword, limit]): [string, Json] => {
    const known = schema[keyword]
    if (typeof known !== 'number' || typeof limit !== 'number') return [keyword, limit]
    return [keyword, /^(min|exclusiveMin)/.test(keyword) ? Math.max(known, limit) : Math.min(known, limit)]
  })
  return { ...schema, ...Object.fromEntries(added) }
}

/** Limits in words, which complete the sentence "must be …"; empty if there are none. */
export function limitsInWords(limits: JsonSchema): string {
  const parts = Object.entries(limits).map(([keyword, limit]) => words[keyword]?.(limit))
  return parts.filter((part) => part !== undefined).join(' and ')
}

const textKeywords: ReadonlySet<string> = new Set(['minLength', 'maxLength', 'enum'])

const words: Readonly<Record<string, (limit: Json) => string>> = {
  minimum: (limit) => `at least ${String(limit)}`,
  exclusiveMinimum: (limit) => `greater than ${String(limit)}`,
  maximum: (limit) => `at most ${String(limit)}`,
  exclusiveMaximum: (limit) => `less than ${String(limit)}`,
  minLength: (limit) => `at least ${String(limit)} characters long`,
  maxLength: (limit) => `at most ${String(limit)} characters long`,
  enum: (members) => `one of ${(members as readonly Json[]).join(', ')}`,
}

const keywords: Readonly<Record<string, string>> = {
  '>=': 'minimum',
  '>': 'exclusiveMinimum',
  '<=': 'maximum',
  '<': 'exclusiveMaximum',
}
const reversed: Readonly<Record<string, string>> = { '>=': '<=', '>': '<', '<=': '>=', '<': '>' }

const number = String.raw`-?\d+(?:\.\d+)?`
const between = new RegExp(String.raw`(\w+) BETWEEN (${number}) AND (${number})`, 'gi')
const columnFirst = new RegExp(String.raw`^(\w+) ?(>=|>|<=|<) ?(${number})$`)
const columnLast = new RegExp(String.raw`^(${number}) ?(>=|>|<=|<) ?(\w+)$`)
const membership = /^(\w+) IN ?\(('[^']*'(?:, ?'[^']*')*)\)$/i

/** Limits of a column in the expression of a CHECK constraint: comparisons with constants, combined by AND. */
function comparisonsIn(expression: string, column: string): readonly JsonSchema[] {
  // A text with a character that is removed here would be another text.
  if (/'[^']*(?:["`[\]]|\s\s)[^']*'/.test(expression)) return []
  const plain = expression
    .replaceAll(/["`[\]]/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(between, '$1 >= $2 AND $1 <= $3')
    .replace(/^ ?\((?!.*\).*\()(.*)\) ?$/, '$1')
    .trim()
  // Without OR and NOT, each part must hold on its own. The same words in a text are of no interest.
  if (/\b(or|not|case)\b/i.test(plain)) return []
  return plain.split(/ AND /i).flatMap((part): readonly JsonSchema[] => {
    const [, name, operator = '', limit] = columnFirst.exec(part) ?? []
    const [, first, sign = '', last] = columnLast.exec(part) ?? []
    const [, listed, members = ''] = membership.exec(part) ?? []
    const isColumn = (other: string | undefined): boolean => other?.toLowerCase() === column.toLowerCase()
    if (isColumn(name)) return [{ [keywords[operator] ?? '']: Number(limit) }]
    if (isColumn(last)) return [{ [keywords[reversed[sign] ?? ''] ?? '']: Number(first) }]
    return isColumn(listed) ? [{ enum: members.split(/, ?(?=')/).map((member) => member.slice(1, -1)) }] : []
  })
}

/** Limits that the decorators of a property declare. */
function validatorLimits({ target }: EntityMetadata, property: string): readonly JsonSchema[] {
  const validator = typeof target === 'function' ? loadClassValidator() : undefined
  if (validator === undefined || typeof target !== 'function') return []
  const rules = validator
    .getMetadataStorage()
    .getTargetValidationMetadatas(target, '', false, false)
    .filter(({ propertyName }) => propertyName === property)
  // A property with @ValidateIf is not always validated. @IsOptional permits null, as the column does.
  if (rules.some(({ type, name }) => type === 'conditionalValidation' && name !== 'isOptional')) return []
  return rules.flatMap(({ name = '', constraints = [], each, groups }) => {
    const limit = readers[name]
    return limit === undefined || each || (groups?.length ?? 0) > 0 ? [] : limit(constraints)
  })
}

const isNumber = (value: unknown): value is number => typeof value === 'number'
const limit =
  (keyword: string) =>
  ([value]: readonly unknown[]): readonly JsonSchema[] =>
    isNumber(value) ? [{ [keyword]: value }] : []

/** Readers of the arguments of decorators, by the names that `class-validator` gives these. */
const readers: Readonly<Record<string, (constraints: readonly unknown[]) => readonly JsonSchema[]>> = {
  min: limit('minimum'),
  max: limit('maximum'),
  isPositive: () => [{ exclusiveMinimum: 0 }],
  isNegative: () => [{ exclusiveMaximum: 0 }],
  minLength: limit('minLength'),
  maxLength: limit('maxLength'),
  isNotEmpty: () => [{ minLength: 1 }],
  isLength: ([min, max]) => [...limit('minLength')([min]), ...limit('maxLength')([max])],
  isIn: ([members]) =>
    Array.isArray(members) && members.every((member) => typeof member === 'string') ? [{ enum: members }] : [],
}
