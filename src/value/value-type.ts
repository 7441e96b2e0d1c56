import { isDeepStrictEqual } from 'node:util'
import { ValueError } from '../errors'

/** A JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** A schema in JSON Schema draft 2020-12, the dialect that OpenAPI 3.1 uses. */
export interface JsonSchema {
  readonly [keyword: string]: Json
}

/** The comparison operators (specification: Operators). */
export const operatorNames = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'is', 'like', 'ilike'] as const
export type OperatorName = (typeof operatorNames)[number]

/** Operators of value types that can only be tested for null. */
export const nullOperators: readonly OperatorName[] = ['is']
/** Operators of value types that can be compared for equality, but not ordered. */
export const equalityOperators: readonly OperatorName[] = ['eq', 'ne', 'in', 'is']
/** Operators of value types that can be ordered. */
export const orderOperators: readonly OperatorName[] = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'is']
/** Operators of text: all of them. */
export const textOperators: readonly OperatorName[] = operatorNames

/** The names by which code distinguishes value types. Value types that no code distinguishes share the name `other`. */
export type ValueTypeName =
  | 'text'
  | 'boolean'
  | 'integer'
  | 'float'
  | 'decimal'
  | 'date-time'
  | 'date'
  | 'time'
  | 'enum'
  | 'uuid'
  | 'array'
  | 'json'
  | 'other'

/** How the transformer of a column converts null. */
export interface TransformedNulls {
  /** Whether a value is stored as null. */
  readonly isStoredAsNull: (value: unknown) => boolean
  /** Whether a stored null is shown as this value. */
  readonly isShownAs: (value: unknown) => boolean
  /** Whether a stored null is shown as a value. */
  readonly showsValue: boolean
  /** Whether null is stored as a value, and this value is shown as null. */
  readonly storesNullAsValue: boolean
}

/**
 * A value type: how the values of a column are parsed, compared and rendered. A value is represented as TypeORM's
 * driver accepts and returns it for the column. Text comes from a query string. JSON comes from a request body and goes
 * into a record.
 */
export interface ValueType {
  /** `text` only if the database stores text, so that patterns (`like`, `ilike`) can be compared with it. */
  readonly name: ValueTypeName
  /** Completes the sentence "must be …": "an integer from 1 to 9". */
  readonly description: string
  /**
   * The schema of the values in records and request bodies. A record may contain numbers and texts outside of its
   * limits if other programs write to the table too.
   */
  readonly schema: JsonSchema
  /** The schema of the values in request bodies and filters, if it differs from `schema`. */
  readonly inputSchema?: JsonSchema
  readonly operators: readonly OperatorName[]
  /** Matches a percent-encoded key of this type in a path. A type without it cannot be a key. */
  readonly inPath?: RegExp
  /**
   * Whether the JSON form of a value loses nothing of the stored value, so that writing it back unchanged changes
   * nothing.
   */
  readonly exact?: true
  /** For integers: whether values may be outside ±(2^53−1), where a double cannot represent every integer. */
  readonly mayExceedDouble?: boolean
  /**
   * The exclusive upper bound of the interval that a value stands for, for example the next second. Only for types that
   * are rendered with less precision than the database may store (specification: Date-times). Returns undefined after
   * the last possible value.
   */
  readonly upperBound?: (value: unknown) => unknown
  /** Parses a value of a query string or a path. @throws {ValueError} */
  readonly fromText: (text: string) => unknown
  /** Parses a value of a request body, which is never null. @throws {ValueError} */
  readonly fromJson: (json: unknown) => unknown
  /** Checks whether a nullable column accepts null. Undefined for types that always do. @throws {ValueError} */
  readonly checkNull?: () => void
  /** Undefined for a column without a transformer: null is stored and shown as null. */
  readonly nulls?: TransformedNulls
  /** Renders a value for a record, which is never null. */
  readonly toJson: (value: unknown) => Json
  /** For texts of which the database considers different ones equal: returns the same text for equal values. */
  readonly toCompared?: (text: string) => string
}

/** Whether the values are numbers. */
export function isNumeric({ name }: ValueType): boolean {
  return name === 'integer' || name === 'float' || name === 'decimal'
}

/** The JSON form of a value; for texts a form that is the same for all values that the database considers equal. */
export function comparedJson({ toJson, toCompared }: ValueType, value: unknown): Json {
  const json = toJson(value)
  return toCompared === undefined ? json : toCompared(String(json))
}

/**
 * Whether the database considers two values of a type equal. They may have different forms: a `bigint` that fits into a number
 * is also a string. False if one of them is null or undefined.
 */
export function isSameValue(valueType: ValueType, one: unknown, other: unknown): boolean {
  if (one === null || one === undefined || other === null || other === undefined) return false
  return isDeepStrictEqual(comparedJson(valueType, one), comparedJson(valueType, other))
}

/**
 * Throws the error for a value that does not match a value type.
 * @param description completes the sentence "must be …"
 * @throws {ValueError} always
 */
export function refuse(description: string): never {
  throw new ValueError(`must be ${description}`)
}

/** Builds a value type whose JSON form is a string that is parsed in the same way as text. */
export function stringJsonType(valueType: Omit<ValueType, 'fromJson'>): ValueType {
  return {
    ...valueType,
    fromJson: (json) =>
      typeof json === 'string' ? valueType.fromText(json) : refuse(`${valueType.description}, in a string`),
  }
}
