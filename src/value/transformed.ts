import { isDeepStrictEqual } from 'node:util'
import { booleanType } from './boolean'
import { dateTimeType, renderDateTime } from './date-time'
import { jsonType } from './json'
import { floatType, integerType, safeRange } from './number'
import { textType } from './text'
import { type Json, nullOperators, refuse, type ValueType } from './value-type'

/** What changes the values of a column on their way to the database and back. */
export interface Transformer {
  readonly to: (value: unknown) => unknown
  readonly from: (value: unknown) => unknown
}

/** The classes of values that a property may hold, each with a value of it. */
const classes: ReadonlyMap<unknown, { readonly kind: ValueType; readonly sample: unknown }> = new Map<
  unknown,
  { readonly kind: ValueType; readonly sample: unknown }
>([
  [String, { kind: textType(), sample: 'sample' }],
  [Number, { kind: floatType, sample: 7 }],
  [Boolean, { kind: booleanType, sample: true }],
  [Date, { kind: dateTimeType, sample: new Date('2024-02-29T10:20:30Z') }],
])

/**
 * The kind of a column with transformers, which is about the values of the entity, not of the database: the one class of
 * values that comes back as it went, or else the class that the compiler has noted; else any JSON that the transformers take.
 * @param type the kind of the column type; undefined for one without
 * @param designType the class of the property, where the compiler has noted one
 */
export function transformedType(
  type: ValueType | 'binary' | undefined,
  designType: unknown,
  transformers: readonly Transformer[],
): ValueType {
  const stored = type === 'binary' ? undefined : type
  const to = (value: unknown): unknown =>
    transformers.reduceRight((result: unknown, transformer) => transformer.to(result), value)
  const from = (value: unknown): unknown =>
    transformers.reduce((result, transformer) => transformer.from(result), value)
  const kind =
    kindOfClass(
      classOf(designType, (value) => from(to(value))),
      stored,
    ) ?? anyType(designType, stored)
  // Bytes are compared with those that the transformer makes of a value; it cannot make a pattern for them.
  const isText = type !== 'binary' && (stored === undefined || stored.name === 'text')
  const check = <T>(value: T): T => {
    const what = stored === undefined ? '' : `, to store ${stored.description}`
    const refusal = `a value that the transformer of its column takes${what}`
    try {
      return isStored(to(value), stored) ? value : refuse(refusal)
    } catch {
      return refuse(refusal)
    }
  }
  return {
    ...kind,
    name: kind.name === 'text' && !isText ? 'other' : kind.name,
    operators: kind.operators.filter((operator) => isText || !operator.endsWith('like')),
    fromText: (text) => check(kind.fromText(text)),
    fromJson: (json) => check(kind.fromJson(json)),
  }
}

function classOf(designType: unknown, roundTrip: (value: unknown) => unknown): unknown {
  const comesBack = (sample: unknown): boolean => {
    try {
      return isDeepStrictEqual(roundTrip(sample), sample)
    } catch {
      return false
    }
  }
  const found = [...classes].filter(([, { sample }]) => comesBack(sample)).map(([type]) => type)
  // A transformer that lets everything pass says nothing.
  return found.length === 1 ? found[0] : designType
}

function kindOfClass(type: unknown, stored: ValueType | undefined): ValueType | undefined {
  if (type === Number && stored?.name === 'integer') return stored.mayExceedDouble ? integerType(safeRange) : stored
  return classes.get(type)?.kind
}

/** Whether the database can hold what a transformer has made: a driver would spread an array over other columns. */
function isStored(value: unknown, stored: ValueType | undefined): boolean {
  if (value === null) return true
  if (value instanceof Date) return !Number.isNaN(value.getTime())
  if (value instanceof Uint8Array) return true
  if (typeof value === 'string') return stored === undefined || isOf(stored, value)
  if (typeof value === 'number') return Number.isFinite(value) && (stored?.name !== 'integer' || isOf(stored, value))
  if (stored?.schema['type'] === 'array')
    return Array.isArray(value) && value.every((member) => isStored(member, undefined))
  if (typeof value === 'object') return stored !== undefined && isStructured(stored)
  return typeof value === 'boolean' || typeof value === 'bigint'
}

/** @throws {ValueError} for what is not */
function isOf(stored: ValueType, value: string | number): boolean {
  if (typeof value === 'number' || stored.name === 'text') stored.fromJson(value)
  else if (!isStructured(stored)) stored.fromText(value)
  return true
}

/** @param stored says how the value is spelt in a filter */
function anyType(designType: unknown, column: ValueType | undefined): ValueType {
  const stored = designType === undefined || designType === Object ? column : undefined
  return {
    name: stored?.name === 'text' ? 'text' : 'json',
    description: 'JSON',
    schema: {},
    operators: stored?.operators ?? nullOperators,
    ...(stored?.inPath && { inPath: stored.inPath }),
    fromText: (text) => (stored === undefined ? refuse('compared by "is" only') : stored.fromText(text)),
    fromJson: jsonType.fromJson,
    toJson: (value) => {
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? String(value) : renderDateTime(value)
      return typeof value === 'bigint' ? renderBigInt(value) : (value as Json)
    },
  }
}

/** Whether values are arrays or objects, which no filter can name. */
function isStructured({ operators }: ValueType): boolean {
  return !operators.includes('eq')
}

function renderBigInt(value: bigint): Json {
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}
