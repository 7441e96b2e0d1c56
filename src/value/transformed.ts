import { isDeepStrictEqual } from 'node:util'
import { booleanType } from './boolean'
import { dateTimeType, renderDateTime } from './date-time'
import { jsonType } from './json'
import { floatType, integerType, renderBigInt, safeRange } from './number'
import { textType } from './text'
import {
  isSameValue,
  type Json,
  nullOperators,
  orderOperators,
  refuse,
  type TransformedNulls,
  type ValueType,
} from './value-type'

/** TypeORM's `ValueTransformer`: converts the values of a column to and from their stored form. */
export interface Transformer {
  readonly to: (value: unknown) => unknown
  readonly from: (value: unknown) => unknown
}

interface PropertyClass {
  readonly valueType: ValueType
  /** A value of the class, to test transformers with. */
  readonly sample: unknown
}

/** The classes that values of a property may have. */
const propertyClasses: ReadonlyMap<unknown, PropertyClass> = new Map<unknown, PropertyClass>([
  [String, { valueType: textType(), sample: 'sample' }],
  [Number, { valueType: floatType, sample: 7 }],
  [Boolean, { valueType: booleanType, sample: true }],
  [Date, { valueType: dateTimeType, sample: new Date('2024-02-29T10:20:30Z') }],
])

/**
 * Value type of a column with transformers. It describes the values of the entity's property, not the stored values.
 * The class of the property is found by passing a sample of each class through the transformers and back. If exactly
 * one sample is unchanged, its class is used; otherwise the class that the compiler recorded for the property. Without
 * one, a date-time or boolean column whose sample is unchanged has the class of its type. The values of other properties
 * are any JSON that the transformers accept.
 * @param type value type of the column type; undefined for a column type that is not supported
 * @param designType class of the property, if the compiler recorded it (`emitDecoratorMetadata`)
 */
export function transformedType(
  type: ValueType | 'binary' | undefined,
  designType: unknown,
  transformers: readonly Transformer[],
): ValueType {
  const stored = type === 'binary' ? undefined : type
  // TypeORM applies transformers in their order when it writes, and in the reverse order when it reads.
  const to = (value: unknown): unknown => transformers.reduce((result, transformer) => transformer.to(result), value)
  const from = (value: unknown): unknown =>
    transformers.reduceRight((result: unknown, transformer) => transformer.from(result), value)
  const valueType =
    typeOfClass(
      classOf(designType, stored, (value) => from(to(value))),
      stored,
      () => keepsFraction(to, from, stored),
    ) ?? anyType(designType, stored)
  // Operators of text, such as `like`, need a column that stores text. For a binary column, the other operators compare
  // the stored bytes with the bytes that the transformer returns for the value.
  const isText = type !== 'binary' && (stored === undefined || stored.name === 'text')
  const check = <T>(value: T): T => {
    const storedAs = stored === undefined ? '' : ` and converts to ${stored.description}`
    const description = `a value that the transformer of its column accepts${storedAs}`
    try {
      const converted = to(value)
      // TypeORM stores `undefined` as NULL. Any other value than null would be lost.
      const isNull = value === null && converted === undefined
      return isNull || isStorableValue(converted, stored) ? value : refuse(description)
    } catch {
      return refuse(description)
    }
  }
  return {
    ...valueType,
    name: valueType.name === 'text' && !isText ? 'other' : valueType.name,
    operators: valueType.operators.filter((operator) => isText || orderOperators.includes(operator)),
    fromText: (text) => check(valueType.fromText(text)),
    fromJson: (json) => check(valueType.fromJson(json)),
    checkNull: () => void check(null),
    nulls: nullsOf(to, from, valueType, stored),
  }
}

/**
 * Converts null to determine how the transformers treat it.
 * @param valueType value type of the property
 * @param stored value type of the column type
 */
function nullsOf(
  to: (value: unknown) => unknown,
  from: (value: unknown) => unknown,
  valueType: ValueType,
  stored: ValueType | undefined,
): TransformedNulls {
  const orNull = (convert: () => unknown): unknown => {
    try {
      return convert() ?? null
    } catch {
      return null
    }
  }
  const shown = orNull(() => from(null))
  // NaN, such as the result of `parseFloat(null)`, and an invalid date are no values: they count as null.
  const showsValue = shown !== null && !Number.isNaN(shown instanceof Date ? shown.getTime() : shown)
  const storedNull = orNull(() => to(null))
  const isStorable = orNull(() => isStorableValue(storedNull, stored)) === true
  return {
    // This does not throw: values that the transformer rejects are refused when they are parsed.
    isStoredAsNull: (value) => (to(value) ?? null) === null,
    isShownAs: (value) => showsValue && orNull(() => isSameValue(valueType, shown, value)) === true,
    showsValue,
    storesNullAsValue: storedNull !== null && isStorable && orNull(() => from(storedNull)) === null,
  }
}

/** The classes of column types that TypeORM would otherwise convert: it parses a text without an offset as local time. */
const columnClasses: ReadonlyMap<string | undefined, unknown> = new Map<string, unknown>([
  ['date-time', Date],
  ['boolean', Boolean],
])

/**
 * Finds the class of a property; see {@link transformedType}.
 * @param stored value type of the column type
 * @param roundTrip converts to the stored form and back
 */
function classOf(designType: unknown, stored: ValueType | undefined, roundTrip: (value: unknown) => unknown): unknown {
  const isUnchanged = (sample: unknown): boolean => {
    try {
      return isDeepStrictEqual(roundTrip(sample), sample)
    } catch {
      return false
    }
  }
  const unchanged = [...propertyClasses].filter(([, { sample }]) => isUnchanged(sample)).map(([type]) => type)
  if (unchanged.length === 1) return unchanged[0]
  // A transformer that leaves samples of several classes unchanged does not identify the class.
  const columnClass = columnClasses.get(stored?.name)
  return isRecorded(designType) || !unchanged.includes(columnClass) ? designType : columnClass
}

/** Whether the compiler recorded the class of a property: it records `Object` for a union such as `Date | null`. */
function isRecorded(designType: unknown): boolean {
  return designType !== undefined && designType !== Object
}

/** @param hasFractions whether the property of an integer column may have fractions */
function typeOfClass(type: unknown, stored: ValueType | undefined, hasFractions: () => boolean): ValueType | undefined {
  if (type === Number && stored?.name === 'integer' && !hasFractions()) {
    return stored.mayExceedDouble ? integerType(safeRange) : stored
  }
  return propertyClasses.get(type)?.valueType
}

/** Whether the transformers convert a fraction to a storable value and back, such as an amount of money in cents. */
function keepsFraction(
  to: (value: unknown) => unknown,
  from: (value: unknown) => unknown,
  stored: ValueType | undefined,
): boolean {
  try {
    const fraction = 7.5
    const result = to(fraction)
    return isStorableValue(result, stored) && from(result) === fraction
  } catch {
    return false
  }
}

/**
 * Whether the database can store the result of a transformer. An array is accepted only for an array column: a driver
 * could expand it into the values of several placeholders.
 */
function isStorableValue(value: unknown, stored: ValueType | undefined): boolean {
  if (value === null) return true
  if (value instanceof Date)
    return !Number.isNaN(value.getTime()) && (stored?.name !== 'date-time' || matches(stored, value.toISOString()))
  if (value instanceof Uint8Array) return true
  if (typeof value === 'string') return stored === undefined || matches(stored, value)
  if (typeof value === 'number') return Number.isFinite(value) && (stored?.name !== 'integer' || matches(stored, value))
  if (stored?.schema['type'] === 'array')
    return Array.isArray(value) && value.every((member) => isStorableValue(member, undefined))
  if (typeof value === 'object') return stored !== undefined && isStructured(stored)
  return typeof value === 'boolean' || typeof value === 'bigint'
}

/** @throws {ValueError} if the value is not of the type */
function matches(stored: ValueType, value: string | number): boolean {
  if (typeof value === 'number' || stored.name === 'text') stored.fromJson(value)
  else if (!isStructured(stored)) stored.fromText(value)
  return true
}

/** Value type of a property of unknown class: any JSON. @param column value type of the column, which parses filters */
function anyType(designType: unknown, column: ValueType | undefined): ValueType {
  const stored = isRecorded(designType) ? undefined : column
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

/** Whether values are arrays or objects, which cannot be written in a filter. */
function isStructured({ operators }: ValueType): boolean {
  return !operators.includes('eq')
}
